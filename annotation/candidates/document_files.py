"""A file of documents as a job: kept privately, read by a worker, deleted once it is stored."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates import documents
from annotation.candidates.models import DocumentFile
from annotation.celery import app
from annotation.core import jobs
from annotation.core.errors import DomainError
from annotation.core.jobs import Lease, TakenOver
from annotation.studies.models import Study

SHOWN_SKIPPED = 20
READ = "annotation.candidates.tasks.read_documents"


def request(study: Study, file: UploadedFile, by: User) -> DocumentFile:
    """Keep ``file`` and ask a worker to read it. Raises DomainError where it is too large."""
    size, name = file.size or 0, file.name or ""
    if size > documents.FILE_LIMIT:
        raise documents.too_large()
    with transaction.atomic():
        row = DocumentFile.objects.create(study=study, by=by, name=name[:200], size=size)
        row.file.save("documents", file)
        transaction.on_commit(partial(jobs.notify, app.signature(READ), row.pk))
    return row


def notify_due() -> None:
    """Notify workers of files that nobody reads; close those that were tried too often."""
    rows = DocumentFile.objects.all()
    for row in jobs.exhausted(rows):
        row.file.delete(save=False)
        jobs.exhausted(rows.filter(pk=row.pk)).update(
            status=jobs.FAILED, error=_("The worker stopped while it read this file."), file=""
        )
    for pk in jobs.startable(rows).values_list("pk", flat=True):
        jobs.notify(app.signature(READ), pk)


def run(pk: int) -> None:
    """Read one file to its end; a refusal is stored in its row."""
    if not jobs.take(DocumentFile.objects.all(), pk):
        return
    row = DocumentFile.objects.select_related("study", "by").get(pk=pk)
    try:
        with jobs.renewed(row) as lease, row.file.open("rb") as file:
            added = documents.add(
                row.study, row.name, file.read(), by=row.by, progress=_progress(row, lease)
            )
    except TakenOver:
        return
    except (DomainError, OSError) as error:
        sentence = getattr(error, "sentence", "") or _("The file is gone: add it once more.")
        _end(row, jobs.FAILED, error=sentence)
        return
    skipped = added["skipped"]
    _end(
        row,
        DocumentFile.Status.DONE,
        added=added["documents"],
        unchanged=added["unchanged"],
        skipped=skipped[:SHOWN_SKIPPED],
        skipped_count=len(skipped),
    )


def _progress(row: DocumentFile, lease: Lease) -> Callable[[int, int], None]:
    def note(done: int, total: int) -> None:
        lease.check()
        jobs.held(row).update(done=done, total=total)

    return note


def _end(row: DocumentFile, status: str, **fields: Any) -> None:
    if jobs.end(row, status, file="", **fields):
        row.file.delete(save=False)
