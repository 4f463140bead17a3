"""The import as a job: a worker reads what a file begins with, and once it is mapped, all of it."""

import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.core import audit, jobs, sharing
from annotation.core.errors import Conflict, DomainError
from annotation.core.jobs import Lease, TakenOver
from annotation.core.rows import chunks
from annotation.core.scratch import scratch_folder
from annotation.imports import bring, files, hub, tables
from annotation.imports.beginning import Beginning
from annotation.imports.hub import HubTable
from annotation.imports.models import DataImport, ImportFault
from annotation.imports.store import Faults, FaultsError

# Progress is written, and a cancelled import noticed, so often.
TELL_SECONDS = 1
PATIENCE = timedelta(days=7)
FAULTS_AT_ONCE = 5_000
Status = DataImport.Status
# A file that is mapped before a worker has looked into it need not wait for that.
STARTABLE = Q(status__in=(Status.WAITING, Status.FAILED)) | Q(
    status__in=(Status.REQUESTED, Status.RUNNING), mapping__isnull=True
)


def request(
    row: DataImport,
    wish: dict,
    *,
    task: str = "",
    open_items: bool = True,
    skip_faults: bool = False,
    allow: Sequence[str] = (),
    provenance: dict | None = None,
) -> None:
    """Ask for an import, read as ``wish`` says (`bring.mapping_for`); Conflict where it runs."""
    check_startable(row)
    waiting = DataImport.objects.filter(STARTABLE, pk=row.pk)
    values = {
        "mapping": wish,
        "task": task,
        "open_items": open_items,
        "skip_faults": skip_faults,
        "allow": list(allow),
        "provenance": provenance or {},
        "rows": 0,
        "rows_stored": 0,
    }
    with transaction.atomic():
        if not waiting.update(**values):
            raise Conflict(_("This import is under way or has ended."), code="under_way")
        jobs.again(DataImport.objects.filter(pk=row.pk))
        ImportFault.objects.filter(source=row).delete()
        audit.record(row.by, "import.start", row)


def check_startable(row: DataImport) -> None:
    """Conflict where the file has not come whole, is gone, or its import was asked for already."""
    if not DataImport.objects.filter(STARTABLE, pk=row.pk).exists():
        raise Conflict(_("This import is under way or has ended."), code="under_way")
    if not row.stored or not sharing.exists(files.path_of(row.stored)):
        raise Conflict(_("The file is gone: send it again."), code="file_lost")


def run(pk: UUID | str) -> DataImport | None:
    """Carry out one requested import; the row, or None where somebody else has it."""
    if not jobs.take(DataImport.objects.all(), pk):
        return None
    row = DataImport.objects.select_related("study", "by").get(pk=pk)
    try:
        with (
            jobs.renewed(row, every=TELL_SECONDS) as lease,
            translation.override(row.language or settings.LANGUAGE_CODE),
        ):
            _look(row) if row.mapping is None else _import(row, lease)
    except TakenOver:
        return None
    except FaultsError as refusal:
        # The file stays: its curator may leave the faulty lines out.
        _note(row, refusal.faults)
        _end(row, Status.FAILED, code=refusal.code, error=refusal.sentence)
    except DomainError as refusal:
        _end(row, Status.FAILED, code=refusal.code, error=refusal.sentence)
    except FileNotFoundError:
        _end(row, Status.FAILED, code="file_lost", error=_("The file is gone: send it again."))
    row.refresh_from_db()
    return row


def due() -> list[UUID]:
    """Imports that nobody works at; what was tried too often or waits too long is closed first."""
    for row in jobs.exhausted(DataImport.objects.all()):
        sentence = _("The file could not be imported in %(n)d attempts.") % {"n": jobs.TRIES}
        DataImport.objects.filter(pk=row.pk, status=row.status).update(
            status=Status.FAILED, error_code="worker_lost", error=sentence, finished_at=Now()
        )
    old = DataImport.objects.filter(created_at__lt=Now() - PATIENCE).exclude(stored="")
    for row in old.exclude(status__in=(Status.REQUESTED, Status.RUNNING)):
        files.delete(row.stored)
        ended = Status.CANCELLED if row.status != Status.FAILED else row.status
        DataImport.objects.filter(pk=row.pk).update(status=ended, stored="", sample="")
    names = DataImport.objects.exclude(stored="").values_list("stored", flat=True)
    files.sweep(set(names), PATIENCE.total_seconds())
    startable = jobs.startable(DataImport.objects.all())
    return list(startable.order_by("created_at").values_list("pk", flat=True))


def _look(row: DataImport) -> None:
    """Note what the file begins with; one that is no table is deleted."""
    fetched: dict = {}
    try:
        if row.hub:
            fetched = _fetch(row)
        with sharing.gathered(files.path_of(row.stored)) as path, tables.opened(path) as table:
            if table.format == "release":
                raise bring.unsupported()
            sample = Beginning.of(table).written()
    except DomainError as refusal:
        words = {"error": refusal.sentence, "error_code": refusal.code}
        if jobs.end(row, Status.FAILED, stored="", finished_at=Now(), **words):
            files.delete(row.stored)
    else:
        jobs.end(row, Status.WAITING, sample=sample, **fetched)


def _fetch(row: DataImport) -> dict:
    """Put the table of the Hub in the import's place; its size and source."""
    with scratch_folder() as folder:
        path, source = hub.fetch(HubTable(**row.hub), folder)
        size = path.stat().st_size
        shutil.copyfile(path, files.path_of(row.stored))
        sharing.move(files.path_of(row.stored))
    return {"size": size, "received": size, "provenance": {"source": source}}


def _import(row: DataImport, lease: Lease) -> None:
    with transaction.atomic():
        with (
            sharing.gathered(files.path_of(row.stored)) as path,
            tables.opened(path) as table,
        ):
            if table.format == "bundle":
                _slug, result = bring.bring_bundle(row.study, table, by=row.by)
            else:
                result = bring.bring(
                    row.study,
                    table,
                    bring.mapping_for(table, row.mapping or {}),
                    task=row.task,
                    open_items=row.open_items,
                    by=row.by,
                    skip_faults=row.skip_faults,
                    allow=row.allow,
                    provenance=bring.provenance(row.name, row.provenance),
                    check=_progress(lease),
                )
        values = {"counts": result.counts, "unknown": result.unknown}
        ended = {"rejected": result.rejected_count, "finished_at": Now(), "error": ""}
        ended |= {"error_code": "", "stored": "", "sample": ""}
        rows = lease.fields.get("rows", 0)
        ended |= {"rows": rows, "rows_stored": rows}
        if not jobs.end(row, Status.DONE, **values, **ended):
            raise TakenOver
        _note(row, Faults(result.rejected, result.rejected_count))
    files.delete(row.stored)


def _progress(lease: Lease) -> Callable[[int, int], None]:
    """What the storing calls with the rows it has read, and those it has stored."""

    def check(rows: int, stored: int) -> None:
        lease.fields |= {"rows": rows, "rows_stored": stored}
        lease.check()

    return check


def _end(row: DataImport, status: str, *, code: str, error: str) -> None:
    jobs.end(row, status, error_code=code, error=error, finished_at=Now())


def _note(row: DataImport, faults: Faults) -> None:
    """Store the faulty lines of this import in place of those of an earlier attempt."""
    with transaction.atomic():
        ImportFault.objects.filter(source=row).delete()
        for chunk in chunks(faults.rows, FAULTS_AT_ONCE):
            ImportFault.objects.bulk_create(
                ImportFault(source=row, line=line, reason=reason) for line, reason in chunk
            )
        found = {"rejected": faults.count, "wider": sorted(faults.wider)}
        DataImport.objects.filter(pk=row.pk).update(**found)
