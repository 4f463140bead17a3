"""Bytes from the browser into an upload, whole or in pieces."""

from collections.abc import Iterable
from pathlib import Path
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.uploads import Uploads
from annotation.histories import texts
from annotation.histories.models import Erasure, Upload

# The private folder of files, which lie there until they are read.
FILES = Uploads("histories", "HISTORY_MAX_BYTES")
# One piece of a large file; small enough for any proxy's limit on a request.
PIECE = 1024 * 1024
OPEN_LIMIT = 10
NAME_LIMIT = 200
FINGERPRINT_LIMIT = 100
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
    """Make room for a file of ``size`` bytes that comes in pieces.

    ``fingerprint`` is whatever tells the sender's files apart: the same one again gives the upload
    that is under way already. Raises DomainError where the file is empty or too large, the disk is
    full, or too many are under way.
    """
    if size <= 0:
        raise DomainError(_("The file is empty."), code="empty_file")
    fingerprint = fingerprint[:FINGERPRINT_LIMIT]
    receiving = Upload.objects.filter(owner=owner, status=RECEIVING)
    same = receiving.filter(fingerprint=fingerprint, size=size).first() if fingerprint else None
    if same:
        return same
    _refuse_for_now(owner)
    FILES.check_room(size)
    stored = FILES.create()
    try:
        with transaction.atomic():
            upload = Upload.objects.create(
                owner=owner,
                size=size,
                fingerprint=fingerprint,
                name=texts.name(name)[:NAME_LIMIT],
                stored=stored,
                language=get_language() or "",
            )
            _note(upload)
        return upload
    except IntegrityError:  # another tab began with the same file at the same moment
        FILES.delete(stored)
        return receiving.get(fingerprint=fingerprint)


def append(owner: User, pk: UUID | str, offset: int, data: bytes) -> Upload:
    """Add one piece, as ``core.uploads``; the last one requests the reading. Raises NotFound."""
    with transaction.atomic():
        upload = Upload.objects.select_for_update(no_key=True).filter(owner=owner, pk=pk).first()
        if upload is None:
            raise NotFound(_("There is no such upload."))
        FILES.append(upload, offset, data, REQUESTED)
    return upload


def whole(owner: User, file: UploadedFile) -> Upload:
    """Take a file that came in one form; its reading is requested."""
    return _whole(owner, file.size or 0, file.chunks(PIECE), texts.name(file.name))


def of_path(owner: User, path: Path) -> Upload:
    """Copy a file of this machine into an upload that its caller reads at once.

    For operators, who ask the owner for consent themselves.
    """
    with path.open("rb") as source:
        return _whole(owner, path.stat().st_size, iter(lambda: source.read(PIECE), b""))


def _whole(owner: User, size: int, pieces: Iterable[bytes], name: str = "") -> Upload:
    if not size:
        raise DomainError(_("The file is empty."), code="empty_file")
    _refuse_for_now(owner)
    FILES.check_room(size)
    stored = FILES.store(pieces)
    try:
        with transaction.atomic():
            upload = Upload.objects.create(
                owner=owner,
                name=name[:NAME_LIMIT],
                size=size,
                received=size,
                stored=stored,
                status=REQUESTED,
                language=get_language() or "",
            )
            _note(upload)
    except BaseException:
        FILES.delete(stored)
        raise
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


def _refuse_for_now(owner: User) -> None:
    """Conflict while the history is being erased, or where too many files are under way."""
    if Erasure.objects.filter(owner=owner, done_at=None).exists():
        raise Conflict(_("Your history is being erased. Try again in a minute."), code="erasing")
    if Upload.objects.filter(owner=owner, status__in=UNDER_WAY).count() >= OPEN_LIMIT:
        raise Conflict(_("Too many files are under way. Wait for one, or cancel it."))


def agree(owner: User) -> None:
    """Record that ``owner`` agrees to what sending a file means."""
    consent.grant(owner, consent.publish("history: storing", STORING))


def _note(upload: Upload) -> None:
    agree(upload.owner)
    audit.record(upload.owner, "history.upload", upload)
