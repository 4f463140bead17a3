"""Child processes that log to private files and do not outlive the process that started them."""

import ctypes
import http.client
import os
import pwd
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

PR_SET_PDEATHSIG = 1
LOG_BYTES = 10 * 2**20


class Process(Protocol):
    """A child: what is used here of subprocess.Popen."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


@dataclass(frozen=True)
class Program:
    """How to run one child, and how to end it.

    `orphan_signal` is what the kernel sends the child when its parent dies without a word.
    """

    name: str
    argv: list[str]
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None
    account: str | None = None
    stop_signal: int = signal.SIGTERM
    stop_seconds: float = 10
    orphan_signal: int = signal.SIGKILL
    forked: bool = False  # from the fork server, where the system has one


def spawn(
    program: Program, log: Path, stdout: int | None = None, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start `program` in a session of its own, output appended to `log`, umask 077.

    `stdout=subprocess.PIPE` gives what it prints to the caller and only its words to the log.
    Call it from the main thread: Linux sends the orphan signal when the starting *thread* ends.
    """
    with open_log(log) as output:
        return subprocess.Popen(  # noqa: S603 (the callers' own words)
            program.argv,
            stdin=stdin,
            stdout=output if stdout is None else stdout,
            stderr=output,
            env=program.environment,
            cwd=program.cwd,
            umask=0o077,
            start_new_session=True,  # Ctrl-C reaches the supervisor alone, which orders the end.
            preexec_fn=die_with(os.getpid(), program.orphan_signal),
            **identity(program.account),
        )


def identity(account: str | None) -> dict:
    """Return the arguments that make subprocess run as `account`; none for our own."""
    if account is None:
        return {}
    entry = pwd.getpwnam(account)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def stop(process: Process, program: Program) -> None:
    """Ask the child to end, give it `stop_seconds`, then kill what is left of its session."""
    if process.poll() is None:
        process.send_signal(program.stop_signal)
    try:
        process.wait(program.stop_seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    kill_group(process.pid)


def kill_group(group: int) -> None:
    """Kill what still runs of a child's process group; nothing left is fine."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def pause() -> None:
    """Wait a little between two looks at a process that is starting."""
    time.sleep(0.05)


def answers(port: int, path: str) -> bool:
    """Whether a server on 127.0.0.1:`port` answers GET `path` with 200."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False  # not listening yet
    finally:
        connection.close()


def open_log(log: Path) -> BinaryIO:
    """Open `log` for appending, mode 0600; a long one is kept as `.1` and begun anew."""
    rotate(log)
    return os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")


def rotate(log: Path) -> None:
    """Keep a log of more than 10 MB as `.1`; the one kept before goes."""
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_name(log.name + ".1"))


def shorten(log: Path) -> None:
    """Keep a copy of a log of more than 10 MB as `.1` and empty it, while it is being written.

    Writers append, so they go on at the new end; lines written between the two steps are lost.
    """
    if log.stat().st_size <= LOG_BYTES:
        return
    older = log.with_name(log.name + ".1")
    older.touch(mode=0o600)
    shutil.copyfile(log, older)
    os.truncate(log, 0)


def tail(log: Path, lines: int = 10) -> str:
    """Return the last lines of a log, indented, to be shown beneath a sentence."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-lines:])


def cause(returncode: int) -> str:
    """Name in words how a process ended."""
    if returncode < 0:
        return f"killed by {signal.Signals(-returncode).name}"
    return f"exit status {returncode}"


def die_with(parent: int, number: int) -> Callable[[], None] | None:
    """Return what a child calls first, so that it gets signal `number` when `parent` dies."""
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl  # loaded before the fork, called after it

    def set_signal() -> None:
        # Runs after the change of account, which would have cleared the setting.
        prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # The parent died before the setting could take effect.
            os._exit(1)

    return set_signal
