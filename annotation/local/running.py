"""Which installations of this copy of Attune run, so that a command finds their data folder.

Each `manage.py up` keeps a file in `.running/` that holds the path of its data folder. Whether it
still runs is known by the lock it holds there, not by the file: a killed process leaves its file.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from .errors import LocalServiceError
from .folders import digest

FOLDER = Path(__file__).parents[2] / ".running"


@contextlib.contextmanager
def listed(data: Path) -> Iterator[None]:
    """List the data folder ``data`` as that of a running installation, as long as it runs.

    Where this copy of Attune lies in a folder that cannot be written, commands need ATTUNE_DATA.
    """
    entry = FOLDER / digest(data)
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
