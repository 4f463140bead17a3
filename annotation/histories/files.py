"""The private folder of uploaded histories, and the handler that streams a form's file into it."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.core.files.uploadhandler import FileUploadHandler, SkipFile
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from annotation.core import sharing
from annotation.core.errors import DomainError
from annotation.core.uploads import FULL, Uploads, no_room

UPLOADS = Uploads("histories", "HISTORY_MAX_BYTES")
folder, path_of, create = UPLOADS.folder, UPLOADS.path_of, UPLOADS.create
write, delete, sweep = UPLOADS.write, UPLOADS.delete, UPLOADS.sweep
check_room, too_large = UPLOADS.check_room, UPLOADS.too_large


def _private(path: Path) -> int:
    return os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)


class Received(UploadedFile):
    """A file of a form that lies in ``folder()`` already; deleted with its request unless kept."""

    stored = ""

    def keep(self) -> str:
        """Its stored name; from now on the caller answers for the file."""
        stored, self.stored = self.stored, ""
        return stored

    def close(self) -> None:
        # No file is open here, which Django's own would close.
        delete(self.keep())


class Receiver(FileUploadHandler):
    """Streams the file of an upload's form straight to ``folder()``, and no more than is allowed.

    Other forms pass through to the next handler. A file that is refused is read to its end, so that
    the page can show why: ``request.upload_refused`` holds the refusal.
    """

    request: HttpRequest
    stored = ""
    sink: BinaryIO | None = None

    def new_file(self, *args: Any, **kwargs: Any) -> None:
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

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes | None:
        if not self.ours:
            return raw_data
        self.count += len(raw_data)
        if self.count > settings.HISTORY_MAX_BYTES:
            self._refuse(DomainError(too_large(), code="too_large", status=413))
        try:
            cast(BinaryIO, self.sink).write(raw_data)
        except OSError as error:
            if error.errno not in FULL:
                raise
            self._refuse(no_room())
        return None

    def file_complete(self, file_size: int) -> UploadedFile | None:
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

    def upload_interrupted(self) -> None:
        """Django tells so where a form ends too early; of a cut line ``leave_no_part`` does."""
        self._throw_away()

    def _refuse(self, refusal: DomainError) -> None:
        self._throw_away()
        vars(self.request)["upload_refused"] = refusal
        raise SkipFile

    def _throw_away(self) -> None:
        if self.sink:
            with suppress(OSError):  # what could not be written before cannot be now
                self.sink.close()
        delete(self.stored)
        self.sink, self.stored = None, ""


def leave_no_part(get_response: Callable[[HttpRequest], HttpResponseBase]) -> Callable:
    """Delete the file that was coming in while its request failed: Django asks no handler to."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        try:
            return get_response(request)
        finally:
            for handler in request.upload_handlers:
                if isinstance(handler, Receiver):
                    handler.upload_interrupted()

    return middleware
