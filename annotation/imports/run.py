"""The import as a job: a worker reads what a file begins with, and once it is mapped, all of it.

The bytes come from a browser or a program, whole or in pieces; the last one asks for the worker.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit, jobs, sharing
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.jobs import Lease, TakenOver
from annotation.core.records import chunks
from annotation.core.schema import fields_of
from annotation.core.uploads import PIECE, Uploads, scratch_folder
from annotation.imports import bring, tables
from annotation.imports.models import DataImport, ImportFault
from annotation.imports.store import Progress, Result
from annotation.imports.tables import Beginning, HubTable, Table
from annotation.imports.votes import Faults, FaultsError
from annotation.studies.models import Study

# The private folder of files that curators send, until the import has ended.
UPLOADS = Uploads("imports", "IMPORT_MAX_BYTES")
Status = DataImport.Status
UNDER_WAY = (Status.RECEIVING, Status.WAITING, Status.REQUESTED, Status.RUNNING)
# A file that is mapped before a worker has looked into it need not wait for that.
STARTABLE = Q(status__in=(Status.WAITING, Status.FAILED)) | Q(
    status__in=(Status.REQUESTED, Status.RUNNING), mapping__isnull=True
)
# Progress is written, and a cancelled import noticed, so often.
TELL_SECONDS = 1
PATIENCE = timedelta(days=7)
FAULTS_AT_ONCE = 5_000


def begin(study: Study, by: User, name: str, size: int, fingerprint: str = "") -> DataImport:
    """Make room for a file of ``size`` bytes that comes in pieces, as ``core.uploads``."""
    make = partial(_create, study, by, name)
    return UPLOADS.begin(_under_way(study), make, size, fingerprint, by=by)


def append(study: Study, pk: UUID, offset: int, data: bytes) -> DataImport:
    """Add one piece, as ``core.uploads``."""
    return UPLOADS.append(study.imports.all(), pk, offset, data)


def whole(study: Study, by: User, file: UploadedFile) -> DataImport:
    """Take a file (Django's UploadedFile) that came in one form."""
    make = partial(_create, study, by, file.name or "")
    return UPLOADS.whole(_under_way(study), make, file.size or 0, file.chunks(PIECE))


def from_hub(study: Study, by: User, wanted: HubTable) -> DataImport:
    """Ask for a table of the Hub, which a worker fetches."""
    UPLOADS.check(_under_way(study), 1)  # its size is not known yet
    fields = {"stored": UPLOADS.create(), "size": 0, "status": Status.REQUESTED}
    with transaction.atomic():
        return _create(study, by, wanted.hub, hub=asdict(wanted), **fields)


def cancel(study: Study, pk: UUID, by: User | None = None) -> None:
    """Give up an import that is not done; its file is deleted, its work in progress undone."""
    rows = DataImport.objects.filter(study=study, pk=pk, status__in=UNDER_WAY)
    row = rows.first()
    ended = {"status": Status.CANCELLED, "stored": "", "sample": "", "lease_expires_at": None}
    with transaction.atomic():
        if row is None or not rows.update(**ended, finished_at=Now()):
            raise NotFound(_("There is no such import under way."))
        audit.record(by, "import.cancel", row)
        transaction.on_commit(lambda: UPLOADS.delete(row.stored))


def _under_way(study: Study) -> QuerySet[DataImport]:
    return study.imports.filter(status__in=UNDER_WAY)


def _create(study: Study, by: User, name: str, **fields: Any) -> DataImport:
    name = " ".join(name.replace("\x00", "").split())[:200] or "file"
    fields |= {"name": name, "language": get_language() or ""}
    row = DataImport.objects.create(study=study, by=by, **fields)
    audit.record(by, "import.begin", row)
    return row


def request_import(
    row: DataImport,
    wish: dict,
    options: bring.Options,
    *,
    provenance: dict | None = None,
    joins: Sequence[dict] | None = None,
    encoding: str | None = None,
) -> None:
    """Ask for an import, read as ``wish`` says (`bring.mapping_for`); Conflict where it runs.

    ``joins`` and ``encoding`` are those of the row where they are None.
    """
    values = asdict(options) | {"provenance": provenance or {}}
    values |= {"joins": row.joins if joins is None else _joinable(row, joins)}
    values |= {"encoding": row.encoding if encoding is None else encoding}
    values |= {"mapping": wish, "mark": None, "rows": 0, "rows_stored": 0}
    with transaction.atomic():
        _ask(row, **values)
        ImportFault.objects.filter(source=row).delete()
        audit.record(row.by, "import.start", row)


def join(row: DataImport, other: str, column: str, key: str) -> None:
    """Join the file ``other`` to a file that is to be mapped, and let a worker look once more.

    Its rows stand beside those whose ``column`` names their ``key``. Conflict, DomainError.
    """
    look_again(
        row, joins=_joinable(row, [*row.joins, {"upload": other, "column": column, "key": key}])
    )


def look_again(row: DataImport, **fields: Any) -> None:
    """Let a worker look once more into a file that is to be mapped, with other ``fields``."""
    with transaction.atomic():
        _ask(row, **fields, mapping=None)


def joinable(row: DataImport) -> QuerySet[DataImport]:
    """The files of the study that can be joined to that of ``row``."""
    others = DataImport.objects.filter(study=row.study_id, status=Status.WAITING, joins=[])
    return others.exclude(pk=row.pk).exclude(stored="").order_by("-created_at")


def _joinable(row: DataImport, joins: Sequence[dict]) -> list[dict]:
    """``joins``, each with the file's name; DomainError where one cannot be made."""
    named = []
    for wanted in joins:
        other = joinable(row).filter(pk__in=[wanted["upload"]]).first()
        if other is None or not (wanted["column"] and wanted["key"]):
            raise DomainError(_("Name a file that waits here, a column of this one, and its key."))
        named.append(wanted | {"upload": str(other.pk), "name": other.name})
    return named


def _ask(row: DataImport, **fields: Any) -> None:
    """Let a worker take the file up, with these ``fields``; part of the caller's transaction.

    Conflict where it has not come whole, is gone, or its import was asked for already.
    """
    if not DataImport.objects.filter(STARTABLE, pk=row.pk).update(**fields):
        raise Conflict(_("This import is under way or has ended."), code="under_way")
    if not row.stored or not sharing.exists(UPLOADS.path_of(row.stored)):
        raise Conflict(_("The file is gone: send it again."), code="file_lost")
    jobs.retry_jobs(DataImport.objects.filter(pk=row.pk))


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
    except DomainError as refusal:
        # The file stays: its curator may leave the faulty lines out.
        if isinstance(refusal, FaultsError):
            _note(row, refusal.faults)
        _fail(row, refusal.code, refusal.sentence)
    except FileNotFoundError:
        _fail(row, "file_lost", _("The file is gone: send it again."))
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
        UPLOADS.delete(row.stored)
        ended = Status.CANCELLED if row.status != Status.FAILED else row.status
        DataImport.objects.filter(pk=row.pk).update(status=ended, stored="", sample="")
    names = DataImport.objects.exclude(stored="").values_list("stored", flat=True)
    UPLOADS.sweep(set(names), PATIENCE.total_seconds())
    startable = jobs.startable(DataImport.objects.all())
    return list(startable.order_by("created_at").values_list("pk", flat=True))


@contextmanager
def _opened(row: DataImport) -> Iterator[Table]:
    """The table of an import, with the files that are joined to it."""
    with (
        sharing.gathered(UPLOADS.path_of(row.stored)) as path,
        tables.opened(path, row.encoding) as table,
    ):
        for wanted in row.joins:
            other = joinable(row).filter(pk=wanted["upload"]).first()
            if other is None:
                raise DomainError(_("The file “%s” is gone: send it again.") % wanted["name"])
            with _opened(other) as joined:
                key = (wanted["column"], wanted["key"])
                table.joins.append(tables.Join.read(joined, other.name, *key))
        yield table


def _look(row: DataImport) -> None:
    """Note what the file begins with; one that is no table is deleted."""
    fetched: dict = {}
    try:
        if row.hub and not row.sample:
            fetched = _fetch(row)
        with _opened(row) as table:
            if table.format == "release":
                raise bring.unsupported()
            sample = Beginning.of(table).written()
    except DomainError as refusal:
        words = {"error": refusal.sentence, "error_code": refusal.code}
        if row.sample:  # the file itself was read before
            wrong = {"encoding": ""} if refusal.code == "encoding" else {"joins": row.joins[:-1]}
            jobs.end(row, Status.WAITING, **wrong, **words)
        elif jobs.end(row, Status.FAILED, stored="", finished_at=Now(), **words):
            UPLOADS.delete(row.stored)
    else:
        jobs.end(row, Status.WAITING, sample=sample, **fetched)


def _fetch(row: DataImport) -> dict:
    """Put the table of the Hub in the import's place; its size and source."""
    with scratch_folder() as folder:
        path, source = tables.fetch(HubTable(**row.hub), folder)
        size = path.stat().st_size
        shutil.copyfile(path, UPLOADS.path_of(row.stored))
        sharing.move(UPLOADS.path_of(row.stored))
    return {"size": size, "received": size, "provenance": {"source": source}}


def _import(row: DataImport, lease: Lease) -> None:
    progress = _Progress(row, lease)
    with _opened(row) as table:
        if table.format == "bundle":
            with transaction.atomic():
                progress.done(bring.bring_bundle(row.study, table, by=row.by)[1])
        else:
            bring.bring(
                row.study,
                table,
                bring.mapping_for(table, row.mapping or {}),
                by=row.by,
                provenance=bring.provenance(row.name, row.provenance),
                progress=progress,
                **{name: getattr(row, name) for name in fields_of(bring.Options)},
            )
    UPLOADS.delete(row.stored)


class _Progress(Progress):
    """How far an import is, kept in its row by the attempt that holds it."""

    keeps = True

    def __init__(self, row: DataImport, lease: Lease) -> None:
        self.row, self.lease, self.mark, self.counts = row, lease, row.mark, row.counts

    def tell(self, rows: int, stored: int) -> None:
        self.lease.fields |= {"rows": rows, "rows_stored": max(stored, self.row.rows_stored)}
        self.lease.check()

    def _keep(self, **fields: Any) -> None:
        if not jobs.held(self.row).update(**self.lease.fields, **fields):
            raise TakenOver

    def checked(self, result: Result) -> None:
        self._keep(mark="", counts=result.counts)
        _note(self.row, result.faults)

    def stored(self, mark: str) -> None:
        self._keep(mark=mark)

    def done(self, result: Result) -> None:
        if self.row.mark is not None:  # of an attempt that found the file good
            result.faults.add_all(Faults(list(self.row.faults.values_list("line", "reason"))))
        ended = {"rejected": result.faults.count, "finished_at": Now(), "error": ""}
        ended |= {"error_code": "", "stored": "", "sample": ""}
        ended |= {"counts": result.counts, "unknown": result.unknown}
        rows = self.lease.fields.get("rows", 0)
        if not jobs.end(self.row, Status.DONE, rows=rows, rows_stored=rows, **ended):
            raise TakenOver
        _note(self.row, result.faults)


def _fail(row: DataImport, code: str, error: str) -> None:
    jobs.end(row, Status.FAILED, error_code=code, error=error, finished_at=Now())


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
