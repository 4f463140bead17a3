"""Uploaded bytes on disk: a private folder, random names, counted as they come.

A file lies here from its first byte until its rows are stored, and no longer.
"""

import errno
import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.core import sharing
from annotation.core.errors import DomainError

# Room that an upload must leave to the database and the logs.
RESERVE = 200 * 2**20
FULL = (errno.ENOSPC, errno.EDQUOT)


def folder() -> Path:
    """The folder of uploads, which only this account can enter."""
    path = settings.DATA / "histories"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def path_of(name: str) -> Path:
    """Where the upload of that stored name lies."""
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
    """Put ``data`` at ``offset``; DomainError 507 where the disk is full."""
    if sharing.put_piece(path_of(name), offset, data):
        return
    try:
        with path_of(name).open("r+b") as file:
            file.seek(offset)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except FileNotFoundError as error:
        raise DomainError(lost(), code="file_lost", status=410) from error
    except OSError as error:
        if error.errno in FULL:
            raise no_room() from error
        raise


def delete(name: str) -> None:
    """Remove a stored file, if it is there."""
    if name:
        path_of(name).unlink(missing_ok=True)
        sharing.remove(path_of(name))


def sweep(names: set[str], older_than: float) -> int:
    """Delete files that no upload knows, left by a crash; only those older than so many seconds."""
    before, count = time.time() - older_than, 0
    for path in folder().iterdir():
        if path.name not in names and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)
            count += 1
    return count


def check_room(size: int) -> None:
    """DomainError where a file of ``size`` bytes is too large, or the disk has no room for it."""
    if size > settings.HISTORY_MAX_BYTES:
        raise DomainError(too_large(), code="too_large", status=413)
    if shutil.disk_usage(folder()).free < size + RESERVE:
        raise no_room()


def too_large() -> str:
    """The sentence for a file beyond the limit."""
    limit = settings.HISTORY_MAX_BYTES // 2**20
    return _("The file is larger than the %(n)d MB that can be sent here.") % {"n": limit}


def lost() -> str:
    """The sentence for a file that is gone."""
    return _("What was received of this file is gone. Please send it again.")


def no_room() -> DomainError:
    """The refusal of a full disk."""
    sentence = _("The server's disk is full. Nothing was stored; try again later.")
    return DomainError(sentence, code="disk_full", status=507)


def _private(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)


class Received(UploadedFile):
    """A file of a form that lies in ``folder()`` already; deleted with its request unless kept."""

    stored = ""

    def keep(self) -> str:
        """Its stored name; from now on the caller answers for the file."""
        stored, self.stored = self.stored, ""
        return stored

    def close(self):
        delete(self.keep())
        return super().close()


class Receiver(FileUploadHandler):
    """Streams the file of an upload's form straight to ``folder()``, and no more than is allowed.

    Other forms pass through to the next handler. A file that is refused is read to its end, so that
    the page can show why: ``request.upload_refused`` holds the refusal.
    """

    stored, sink = "", None

    def new_file(self, *args, **kwargs):
        super().new_file(*args, **kwargs)
        self.stored, self.sink = "", None
        self.ours = self.request.path in (reverse("history-uploads"), reverse("api-histories"))
        if not self.ours:
            return
        if not self.request.path.startswith("/api/") and not self.request.user.is_authenticated:
            raise SkipFile
        try:
            check_room(int(self.request.META.get("CONTENT_LENGTH") or 0))
        except DomainError as refusal:
            self._refuse(refusal)
        self.stored = create()
        self.sink = os.fdopen(_private(path_of(self.stored)), "wb")
        self.count = 0

    def receive_data_chunk(self, raw_data, start):
        if not self.ours:
            return raw_data
        self.count += len(raw_data)
        if self.count > settings.HISTORY_MAX_BYTES:
            self._refuse(DomainError(too_large(), code="too_large", status=413))
        try:
            self.sink.write(raw_data)
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._refuse(no_room())
        return None

    def file_complete(self, file_size):
        if not self.sink:
            return None
        try:
            self.sink.flush()
            os.fsync(self.sink.fileno())
        finally:
            self.sink.close()
        sharing.move(path_of(self.stored))
        # Only its size is passed on: the file's name may name a person.
        received = Received(None, "upload", self.content_type, file_size)
        received.stored, self.sink, self.stored = self.stored, None, ""
        return received

    def upload_interrupted(self):
        self._throw_away()

    def _refuse(self, refusal: DomainError):
        self._throw_away()
        self.request.upload_refused = refusal
        raise SkipFile

    def _throw_away(self):
        if self.sink:
            with suppress(OSError):  # what could not be written before cannot be now
                self.sink.close()
        delete(self.stored)
        self.sink, self.stored = None, ""
