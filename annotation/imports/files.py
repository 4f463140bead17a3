"""Files that curators send, on disk: a private folder, random names, until the import has ended."""

import os
import secrets
import shutil
import time
from pathlib import Path

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.core import sharing
from annotation.core.errors import DomainError

# Room that a file must leave to the database and the logs.
RESERVE = 200 * 2**20


def folder() -> Path:
    """The folder of files, which only this account can enter."""
    path = settings.DATA / "imports"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def path_of(name: str) -> Path:
    """Where the file of that stored name lies."""
    if not name or not name.isalnum():
        raise ValueError("not a stored name")
    return folder() / name


def create() -> str:
    """Make an empty file that only this account can read; its random name."""
    name = secrets.token_hex(16)
    if not sharing.store():  # there each piece becomes a file of its own
        os.close(os.open(path_of(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    return name


def write(name: str, offset: int, data: bytes) -> None:
    """Put ``data`` at ``offset``; DomainError where the file is gone."""
    if sharing.put_piece(path_of(name), offset, data):
        return
    try:
        with path_of(name).open("r+b") as file:
            file.seek(offset)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileNotFoundError as error:
        sentence = _("What was received of this file is gone. Please send it again.")
        raise DomainError(sentence, code="file_lost", status=410) from error


def delete(name: str) -> None:
    """Remove a stored file, if it is there."""
    if name:
        path_of(name).unlink(missing_ok=True)
        sharing.remove(path_of(name))


def sweep(names: set[str], older_than: float) -> None:
    """Delete files that no import names, left by a crash, older than so many seconds."""
    before = time.time() - older_than
    for path in folder().iterdir():
        if path.name not in names and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)


def check_room(size: int) -> None:
    """DomainError where a file of ``size`` bytes is too large, or the disk has no room for it."""
    if size <= 0:
        raise DomainError(_("The file is empty."), code="empty_file")
    if size > settings.IMPORT_MAX_BYTES:
        limit = settings.IMPORT_MAX_BYTES // 2**20
        sentence = _("The file is larger than the %(n)d MB that can be sent here.") % {"n": limit}
        raise DomainError(sentence, code="too_large", status=413)
    if shutil.disk_usage(folder()).free < size + RESERVE:
        sentence = _("The server's disk is full. Nothing was stored; try again later.")
        raise DomainError(sentence, code="disk_full", status=507)
