"""Uploaded bytes on disk: a private folder, random names, no longer than until they are read."""

import errno
import os
import secrets
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from annotation.core import sharing
from annotation.core.errors import Conflict, DomainError

# Room that an upload must leave to the database and the logs.
RESERVE = 200 * 2**20
FULL = (errno.ENOSPC, errno.EDQUOT)


def lost() -> str:
    """The sentence for a file that is gone."""
    return _("What was received of this file is gone. Please send it again.")


def no_room() -> DomainError:
    """The refusal of a full disk."""
    sentence = _("The server's disk is full. Nothing was stored; try again later.")
    return DomainError(sentence, code="disk_full", status=507)


class WrongOffset(Conflict):
    """The piece does not begin where the last one ended; ``offset`` is where that is."""

    def __init__(self, offset: int):
        super().__init__(_("The upload goes on at another place."), code="offset")
        self.offset = offset


def full_disk(error: BaseException | None) -> DomainError | None:
    """The refusal for an error that a full disk raised; None for any other."""
    return no_room() if isinstance(error, OSError) and error.errno in FULL else None


@dataclass(frozen=True)
class Uploads:
    """The folder ``name`` of the data folder, for files of up to settings' ``limit`` bytes."""

    name: str
    limit: str

    def folder(self) -> Path:
        """The folder, which only this account can enter."""
        path = settings.DATA / self.name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    def path_of(self, name: str) -> Path:
        """Where the file of that stored name lies."""
        if not name or not name.isalnum():
            raise ValueError("not a stored name")
        return self.folder() / name

    def create(self) -> str:
        """Make an empty file that only this account can read; its random name."""
        name = secrets.token_hex(16)
        if not sharing.object_store():  # there each piece becomes a file of its own
            os.close(os.open(self.path_of(name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        return name

    def write(self, name: str, offset: int, data: bytes) -> None:
        """Put ``data`` at ``offset``; DomainError where the file is gone or the disk is full."""
        path = self.path_of(name)
        if sharing.put_piece(path, offset, data):
            return
        try:
            with path.open("r+b") as file:
                file.seek(offset)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except FileNotFoundError as error:
            raise DomainError(lost(), code="file_lost", status=410) from error
        except OSError as error:
            if refusal := full_disk(error):
                raise refusal from error
            raise

    def store(self, pieces: Iterable[bytes]) -> str:
        """Keep a file that came whole; its stored name. Of one that breaks off nothing stays."""
        name, place = self.create(), 0
        try:
            for piece in pieces:
                self.write(name, place, piece)
                place += len(piece)
        except BaseException:
            self.delete(name)
            raise
        return name

    def append(self, row: Any, offset: int, data: bytes, complete: str) -> None:
        """Add one piece to the file of ``row``, a locked upload; the last gives it this status.

        Raises WrongOffset, DomainError. The same piece sent again after a lost answer is refused
        with the offset to go on from.
        """
        if row.status != row.Status.RECEIVING or offset != row.received:
            raise WrongOffset(row.received)
        row.received += len(data)
        if row.received > row.size:
            sentence = _("More was sent than the file holds. Send it once more.")
            raise DomainError(sentence, code="too_much")
        self.write(row.stored, offset, data)
        if row.received == row.size:
            row.status = complete
        row.save(update_fields=["received", "status"])

    def delete(self, name: str) -> None:
        """Remove a stored file, if it is there."""
        if name:
            self.path_of(name).unlink(missing_ok=True)
            sharing.remove(self.path_of(name))

    def sweep(self, names: set[str], older_than: float) -> int:
        """Delete files not in ``names``, left by a crash, that are older than so many seconds."""
        before, count = time.time() - older_than, 0
        for path in self.folder().iterdir():
            if path.name not in names and path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
                count += 1
        return count

    def check_room(self, size: int) -> None:
        """DomainError where a file of ``size`` bytes is too large, or the disk has no room."""
        if size > getattr(settings, self.limit):
            raise DomainError(self.too_large(), code="too_large", status=413)
        if shutil.disk_usage(self.folder()).free < size + RESERVE:
            raise no_room()

    def too_large(self) -> str:
        """The sentence for a file beyond the limit."""
        words = _("The file is larger than the %(n)d MB that can be sent here.")
        return words % {"n": getattr(settings, self.limit) // 2**20}
