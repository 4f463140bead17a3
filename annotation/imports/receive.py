"""Bytes from a browser or a program into an import, whole or in pieces.

The last one asks for a worker that reads what the file begins with.
"""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.db.models.functions import Now
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.uploads import Uploads
from annotation.imports.hub import HubTable
from annotation.imports.models import DataImport
from annotation.studies.models import Study

# The private folder of files that curators send, until the import has ended.
UPLOADS = Uploads("imports", "IMPORT_MAX_BYTES")
PIECE = 1024 * 1024
OPEN_LIMIT = 10
FINGERPRINT_LIMIT = 100
Status = DataImport.Status
UNDER_WAY = (Status.RECEIVING, Status.WAITING, Status.REQUESTED, Status.RUNNING)


def begin(study: Study, by: User, name: str, size: int, fingerprint: str = "") -> DataImport:
    """Make room for a file of ``size`` bytes that comes in pieces.

    The same ``fingerprint`` again gives the import that is being sent already. Raises DomainError
    where the file is empty or too large, the disk is full, or too many are under way.
    """
    sending = DataImport.objects.filter(study=study, by=by, status=Status.RECEIVING, size=size)
    fingerprint = fingerprint[:FINGERPRINT_LIMIT]
    earlier = sending.filter(fingerprint=fingerprint).first() if fingerprint else None
    if earlier:
        return earlier
    _check(study, size)
    stored = UPLOADS.create()
    try:
        with transaction.atomic():
            return _create(study, by, name, size, stored=stored, fingerprint=fingerprint)
    except IntegrityError:  # another tab began with the same file at the same moment
        UPLOADS.delete(stored)
        return sending.get(fingerprint=fingerprint)


def append(study: Study, pk: UUID, offset: int, data: bytes) -> DataImport:
    """Add one piece, as ``core.uploads``. Raises NotFound."""
    with transaction.atomic():
        row = DataImport.objects.select_for_update(no_key=True).filter(study=study, pk=pk).first()
        if row is None:
            raise NotFound(_("There is no such import."))
        UPLOADS.append(row, offset, data, Status.REQUESTED)
    return row


def whole(study: Study, by: User, file: UploadedFile) -> DataImport:
    """Take a file (Django's UploadedFile) that came in one form."""
    name, size = file.name or "", file.size or 0
    _check(study, size)
    stored = UPLOADS.store(file.chunks(PIECE))
    try:
        with transaction.atomic():
            return _create(
                study,
                by,
                name,
                size,
                stored=stored,
                received=size,
                status=Status.REQUESTED,
            )
    except BaseException:
        UPLOADS.delete(stored)
        raise


def from_hub(study: Study, by: User, wanted: HubTable) -> DataImport:
    """Ask for a table of the Hub, which a worker fetches."""
    _check(study, 1)  # its size is not known yet
    with transaction.atomic():
        return _create(
            study,
            by,
            wanted.hub,
            0,
            stored=UPLOADS.create(),
            status=Status.REQUESTED,
            hub=asdict(wanted),
        )


def cancel(study: Study, pk: UUID, by: User | None = None) -> None:
    """Give up an import that is not done; its file is deleted, its work in progress undone."""
    rows = DataImport.objects.filter(study=study, pk=pk, status__in=UNDER_WAY)
    stored = rows.values_list("stored", flat=True).first()
    ended = {"status": Status.CANCELLED, "stored": "", "sample": "", "lease_expires_at": None}
    if not rows.update(**ended, finished_at=Now()):
        raise NotFound(_("There is no such import under way."))
    transaction.on_commit(lambda: UPLOADS.delete(stored or ""))


def _create(study: Study, by: User, name: str, size: int, **fields: Any) -> DataImport:
    row = DataImport.objects.create(
        study=study,
        by=by,
        name=" ".join(name.replace("\x00", "").split())[:200] or "file",
        size=size,
        language=get_language() or "",
        **fields,
    )
    audit.record(by, "import.begin", row)
    return row


def _check(study: Study, size: int) -> None:
    if size <= 0:
        raise DomainError(_("The file is empty."), code="empty_file")
    UPLOADS.check_room(size)
    if study.imports.filter(status__in=UNDER_WAY).count() >= OPEN_LIMIT:
        raise Conflict(_("Too many files are under way. Wait for one, or cancel it."))
