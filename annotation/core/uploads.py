"""Bytes on disk no longer than they are needed: uploads until they are read, scratch folders.

A file comes whole or in pieces, and its row is the job that reads it: with the columns ``stored``
(the random name), ``size``, ``received``, ``fingerprint`` and ``status``. Of a temporary folder a
killed process leaves nothing behind for good.
"""

import errno
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotation.core import sharing
from annotation.core.errors import Conflict, DomainError, NotFound

PREFIX = ".scratch-"
# One that was made a moment ago may not be locked yet.
NEW_SECONDS = 60
# Room that an upload must leave to the database and the logs.
RESERVE = 200 * 2**20
# One piece of a large file; small enough for any proxy's limit on a request.
PIECE = 1 << 20
# Files of one sender that are under way at once.
OPEN_LIMIT = 10
FINGERPRINT_LIMIT = 100
FULL = (errno.ENOSPC, errno.EDQUOT)


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
    limit: str = ""

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

    def create(self, name: str = "") -> str:
        """Make an empty file that only this account can read; its name, a random one if not set."""
        name = name or secrets.token_hex(16)
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

    def store(self, pieces: Iterable[bytes], name: str = "") -> str:
        """Keep a file that came whole; its stored name. Of one that breaks off nothing stays."""
        name, place = self.create(name), 0
        try:
            for piece in pieces:
                self.write(name, place, piece)
                place += len(piece)
        except BaseException:
            self.delete(name)
            raise
        return name

    def begin(
        self, under_way: QuerySet, make: Callable, size: int, fingerprint: str, **sender: Any
    ) -> Any:
        """Make room for a file of ``size`` bytes that comes in pieces; its row, by ``make``.

        ``fingerprint`` is whatever tells the files of a ``sender`` apart: the same one again gives
        the row that is being received already. Raises DomainError where the file is empty or too
        large, the disk is full, or too many are ``under_way``.
        """
        fingerprint = fingerprint[:FINGERPRINT_LIMIT]
        receiving = under_way.filter(status="receiving", fingerprint=fingerprint, **sender)
        if fingerprint and (same := receiving.filter(size=size).first()):
            return same
        self.check(under_way, size)
        stored = self.create()
        try:
            with self._kept(stored):
                return make(stored=stored, size=size, fingerprint=fingerprint)
        except IntegrityError:  # another tab began with the same file at the same moment
            return receiving.latest("created_at")

    def whole(self, under_way: QuerySet, make: Callable, size: int, pieces: Iterable[bytes]) -> Any:
        """Keep a file that came in one; its row, which asks for the job. Raises as ``begin``."""
        self.check(under_way, size)
        stored = self.store(pieces)
        with self._kept(stored):
            return make(stored=stored, size=size, received=size, status="requested")

    @contextmanager
    def _kept(self, stored: str) -> Iterator[None]:
        """A transaction that makes the row of a stored file; without a row the file goes, too."""
        try:
            with transaction.atomic():
                yield
        except BaseException:
            self.delete(stored)
            raise

    @transaction.atomic
    def append(self, rows: QuerySet, pk: UUID | str, offset: int, data: bytes) -> Any:
        """Add one piece to the file of one of ``rows``; the last one asks for its job.

        Raises NotFound, WrongOffset, DomainError. The same piece sent again after a lost answer is
        refused with the offset to go on from.
        """
        row = rows.select_for_update(no_key=True).filter(pk=pk).first()
        if row is None:
            raise NotFound(_("There is no such upload."))
        if row.status != "receiving" or offset != row.received:
            raise WrongOffset(row.received)
        row.received += len(data)
        if row.received > row.size:
            sentence = _("More was sent than the file holds. Send it once more.")
            raise DomainError(sentence, code="too_much")
        self.write(row.stored, offset, data)
        if row.received == row.size:
            row.status = "requested"
        row.save(update_fields=["received", "status"])
        return row

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

    def check(self, under_way: QuerySet, size: int) -> None:
        """DomainError where a file of ``size`` bytes is empty or too large, or has no room."""
        if size <= 0:
            raise DomainError(_("The file is empty."), code="empty_file")
        if size > getattr(settings, self.limit):
            raise DomainError(self.too_large(), code="too_large", status=413)
        if shutil.disk_usage(self.folder()).free < size + RESERVE:
            raise no_room()
        if under_way.count() >= OPEN_LIMIT:
            raise Conflict(_("Too many files are under way. Wait for one, or cancel it."))

    def too_large(self) -> str:
        """The sentence for a file beyond the limit."""
        words = _("The file is larger than the %(n)d MB that can be sent here.")
        return words % {"n": getattr(settings, self.limit) // 2**20}
