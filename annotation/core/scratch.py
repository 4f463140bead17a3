"""Temporary folders of which a killed process leaves nothing behind for good."""

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings

PREFIX = ".scratch-"
# One that was made a moment ago may not be locked yet.
NEW_SECONDS = 60


def place() -> Path:
    """Where temporary folders of this installation lie: what is in them may be private."""
    return settings.DATA / "scratch"


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """A private folder in ``parent`` (default ``place()``), deleted after the block.

    It is locked as long as this process lives. Those of processes that were killed are deleted
    first.
    """
    parent = parent or place()
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    sweep(parent)
    path = Path(tempfile.mkdtemp(dir=parent, prefix=PREFIX))
    lock = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)


def sweep(parent: Path) -> None:
    """Delete the folders in ``parent`` whose processes have ended."""
    for path in parent.glob(f"{PREFIX}*"):
        with suppress(FileNotFoundError):  # its block ended meanwhile
            if time.time() - path.stat().st_mtime > NEW_SECONDS:
                _delete_unlocked(path)


def _delete_unlocked(path: Path) -> None:
    lock = os.open(path, os.O_RDONLY)
    try:
        with suppress(BlockingIOError):  # somebody works in it
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(lock)
