"""How to run a program of the laptop's services, and what to tell of one."""

import contextlib
import fcntl
import http.client
import pwd
import shutil
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from annotation.local.folders import LocalServiceError, path_digest
from annotation.product import HOME


@dataclass(frozen=True)
class Program:
    """How to run one program, and how to end it.

    `environment` is all that the program sees; None lets it see ours. `orphan_signal` is what the
    kernel sends it when its parent dies without a word (Linux only).
    """

    name: str
    argv: list[str]
    environment: dict[str, str] | None = None
    cwd: Path | None = None
    account: str | None = None
    stop_signal: int = signal.SIGTERM
    stop_seconds: int = 10
    orphan_signal: int = signal.SIGKILL

    def command(self) -> list[str]:
        words = [f"{name}={value}" for name, value in (self.environment or {}).items()]
        alone = [] if self.environment is None else ["env", "-i", *words]
        return [*run_as(self.account, self.orphan_signal), *alone, *self.argv]


def run_as(account: str | None, orphan_signal: int | None = None) -> list[str]:
    """Return the words before a command that run it as `account` (None: as our own)."""
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    if setpriv is None:
        if account:
            raise LocalServiceError(
                f"The database runs as {account}, which needs the program setpriv: install "
                "util-linux, run Attune as an ordinary user, or set DATABASE_URL."
            )
        return []
    words = [setpriv]
    if account:
        entry = pwd.getpwnam(account)
        words += [f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
    if orphan_signal:
        words += ["--pdeathsig", signal.Signals(orphan_signal).name]
    return [*words, "--"] if words[1:] else []


def answers(port: int, path: str) -> bool:
    """Whether a server on 127.0.0.1:`port` answers GET `path` with 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    return False  # not listening yet


def tail(log: Path, lines: int = 10) -> str:
    """Return the last lines of a log, indented, to be shown beneath a sentence."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


FOLDER = HOME / ".running"


@contextlib.contextmanager
def listed(data: Path) -> Iterator[None]:
    """List the data folder ``data`` as that of a running installation, as long as it runs.

    Where this copy of Attune lies in a folder that cannot be written, commands need ATTUNE_DATA.
    """
    entry = FOLDER / path_digest(data)
    with contextlib.suppress(OSError):
        FOLDER.mkdir(mode=0o700, exist_ok=True)
        entry.write_text(str(data), encoding="utf-8")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            entry.unlink(missing_ok=True)


def data_folder() -> Path | None:
    """Return the data folder of the installation that runs; None where none does.

    Raises LocalServiceError where several run: a command must not choose between them.
    """
    folders = sorted(filter(_runs, map(_read, FOLDER.glob("*"))))
    if len(folders) > 1:
        names = ", ".join(map(str, folders))
        raise LocalServiceError(f"Several installations run: name one with ATTUNE_DATA ({names}).")
    return folders[0] if folders else None


def lock_file(data: Path) -> Path:
    """Return the file that the supervisor of ``data`` holds locked while it runs."""
    return data / "run" / "up.lock"


def _read(entry: Path) -> Path:
    return Path(entry.read_text(encoding="utf-8"))


def _runs(data: Path) -> bool:
    try:
        with lock_file(data).open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # deleted, or of another account
    return False
