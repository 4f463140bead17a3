"""Bytes from the browser into an upload, whole or in pieces."""

from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, NotFound
from annotation.core.uploads import PIECE, Uploads
from annotation.histories import texts
from annotation.histories.models import Erasure, Upload

# The private folder of files, which lie there until they are read.
FILES = Uploads("histories", "HISTORY_MAX_BYTES")
NAME_LIMIT = 200
RECEIVING, REQUESTED = Upload.Status.RECEIVING, Upload.Status.REQUESTED
# These go on by themselves; and with them what waits for its owner's answer holds a file, too.
READING = (RECEIVING, REQUESTED, Upload.Status.RUNNING)
UNDER_WAY = (*READING, Upload.Status.ERASED_BEFORE)
# What sending a file means; agreed to by sending it.
STORING = gettext_noop(
    "I send a history that is my own. It is stored on this server, I alone see it, and it is used "
    "in a study only as far as I keep its sessions and allow a purpose. I can erase all of it at "
    "any time."
)


def begin(owner: User, size: int, fingerprint: str = "", name: str = "") -> Upload:
    """Make room for a file of ``size`` bytes that comes in pieces, as ``core.uploads``."""
    make = partial(_create, owner, name)
    return FILES.begin(_under_way(owner), make, size, fingerprint)


def append(owner: User, pk: UUID | str, offset: int, data: bytes) -> Upload:
    """Add one piece, as ``core.uploads``; the last one requests the reading."""
    return FILES.append(Upload.objects.filter(owner=owner), pk, offset, data)


def whole(owner: User, file: UploadedFile) -> Upload:
    """Take a file that came in one form; its reading is requested."""
    make = partial(_create, owner, file.name)
    return FILES.whole(_under_way(owner), make, file.size or 0, file.chunks(PIECE))


def of_path(owner: User, path: Path) -> Upload:
    """Copy a file of this machine into an upload that its caller reads at once.

    For operators, who ask the owner for consent themselves.
    """
    make, size = partial(_create, owner, ""), path.stat().st_size
    with path.open("rb") as source:
        pieces = iter(lambda: source.read(PIECE), b"")
        return FILES.whole(_under_way(owner), make, size, pieces)


def _under_way(owner: User) -> QuerySet[Upload]:
    """The files that are under way; Conflict while the history is being erased."""
    if Erasure.objects.filter(owner=owner, done_at=None).exists():
        raise Conflict(_("Your history is being erased. Try again in a minute."), code="erasing")
    return Upload.objects.filter(owner=owner, status__in=UNDER_WAY)


def _create(owner: User, name: str | None, **fields: Any) -> Upload:
    name = texts.name(name)[:NAME_LIMIT]
    fields |= {"name": name, "language": get_language() or ""}
    upload = Upload.objects.create(owner=owner, **fields)
    agree(owner)
    audit.record(owner, "history.upload", upload)
    return upload


def cancel(owner: User, pk: UUID | str) -> None:
    """Give up a file that nothing is stored of yet; its bytes are deleted, its reading stops."""
    with transaction.atomic():
        uploads = Upload.objects.select_for_update(no_key=True).filter(owner=owner, pk=pk)
        upload = uploads.filter(status__in=UNDER_WAY, stored_at=None).first()
        if upload is None:
            raise NotFound(_("There is no such upload under way."))
        end(upload, Upload.Status.CANCELLED)
        FILES.delete(upload.stored)


def retry_upload(owner: User, pk: UUID | str) -> Upload:
    """Import a file although its owner erased it before: they confirmed it."""
    waiting = Upload.objects.filter(owner=owner, pk=pk, status=Upload.Status.ERASED_BEFORE)
    if not waiting.exclude(stored="").update(status=REQUESTED, again=True, attempts=0):
        raise NotFound(_("There is no such upload under way."))
    upload = Upload.objects.get(pk=pk)
    audit.record(owner, "history.again", upload)
    return upload


def end(upload: Upload, status: str) -> None:
    """Close an upload that is not being read."""
    Upload.objects.filter(pk=upload.pk).update(
        status=status, stored="", lease_expires_at=None, finished_at=Now()
    )


def agree(owner: User) -> None:
    """Record that ``owner`` agrees to what sending a file means."""
    consent.grant(owner, consent.publish("history: storing", STORING))
