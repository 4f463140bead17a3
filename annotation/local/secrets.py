"""Random secrets that live in files only their owner can read. Standard library only."""

import os
import secrets
import stat
import tempfile
from pathlib import Path

from annotation.local.folders import LocalServiceError, private_folder


def read_or_create(path: Path, nbytes: int = 50) -> str:
    """Return the secret in `path`; where the file is missing, make one of `nbytes` random bytes.

    The file is mode 0600 and appears whole or not at all, so two processes that start at once
    agree on one secret. Missing folders above it are made with mode 0700.

    Raises LocalServiceError where the file is empty, belongs to somebody else, can be read by
    another account or cannot be written.
    """
    private_folder(path.parent)
    try:
        return _read(path)
    except FileNotFoundError:
        _publish(path, secrets.token_urlsafe(nbytes))
        return _read(path)


def write_private(path: Path, text: str) -> None:
    """Replace `path` by `text`, atomically, readable by its owner only."""
    temporary = _temporary(path, text)
    os.replace(temporary, path)


def _read(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise LocalServiceError(
                f"The secret {path} is open to other accounts: "
                f"it must be owned by this account with mode 0600."
            )
        text = file.read().strip()
    if not text:
        raise LocalServiceError(f"The secret {path} is empty: delete it to have a new one made.")
    return text


def _publish(path: Path, text: str) -> None:
    temporary = _temporary(path, text + "\n")
    try:
        os.link(temporary, path)
    except FileExistsError:
        return  # Another process made it first: its secret is the one.
    finally:
        temporary.unlink()


def _temporary(path: Path, text: str) -> Path:
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:  # mkstemp's mode is 0600
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise LocalServiceError(f"{path} cannot be written: {error.strerror}.") from error
    return Path(name)
