"""Adds rows of a bundle's files to a study without a folder: what the API's bulk calls do."""

from collections.abc import Callable
from dataclasses import asdict, dataclass

from django.db import transaction

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.judging.imports import bundles
from annotation.judging.kinds import config_of
from annotation.personas.models import Attribute
from annotation.studies import bundle as format
from annotation.studies.bundle import BundleError
from annotation.studies.models import Study

NAMES = bundles.NAMES
# What a row names of other files: the key, and the ids that the study has.
REFERENCES: dict[str, Callable] = {
    "persona": lambda study: study.personas.filter(dropped_at=None),
    "query": lambda study: study.queries.filter(replaced_at=None, owner=None),
    "candidate": lambda study: study.candidates,
    "attribute": lambda study: Attribute.objects.filter(persona__study=study),
}


@dataclass(frozen=True)
class Fault:
    """What is wrong with the row of this number, counted from 0."""

    row: int
    detail: str


class FaultyRowsError(DomainError):
    """Rows that cannot be stored: ``faults``; nothing was stored."""

    code = "rows"

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__(f"{len(faults)} of the rows cannot be stored; nothing was.")
        self.faults = faults
        # What a program reads beside the sentence.
        self.members = {"faults": [asdict(fault) for fault in faults]}


class RowReport(format.Report):
    """Faults of numbered rows; unlike a file's report it goes on to the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[Fault] = []

    def fault(self, place: str, words: str) -> None:
        """Note a fault; ``place`` ends with the row's number."""
        self.rows.append(Fault(int(place.rsplit(" ", 1)[1]), words))

    def unknown(self, name: str, place: str, key: str) -> None:
        """Report each key that is not read."""
        self.fault(place, f"the key “{key[:80]}” is not part of the format")

    def finish(self) -> None:
        """Raise FaultyRowsError where there was a fault."""
        if self.rows:
            raise FaultyRowsError(sorted(self.rows, key=lambda fault: fault.row))


def add_rows(
    study: Study, name: str, values: list, *, skip_faulty: bool = False, by: User | None = None
) -> list[Fault]:
    """Add ``values``, rows of the bundle's file ``name`` (NAMES), to ``study``.

    All of them are stored or, where one is faulty, none: FaultyRowsError. With ``skip_faulty`` the
    faulty ones are left out and returned. A row that the study has already changes nothing.
    """
    rows = dict(enumerate(values))
    faults: list[Fault] = []
    while True:
        try:
            _add(study, name, rows, by)
        except FaultyRowsError as refusal:
            if not skip_faulty:
                raise
            faults += refusal.faults
            for fault in refusal.faults:
                rows.pop(fault.row, None)
        else:
            return sorted(faults, key=lambda fault: fault.row)


@transaction.atomic
def _add(study: Study, name: str, values: dict[int, object], by: User | None) -> None:
    report = RowReport()
    rows = format.check_rows(name, values, report)
    _check_ids(rows, report)
    _check_references(study, rows, report)
    if name == "items":
        _check_items(study, rows, report)
    report.finish()
    try:
        bundles.store_rows(study, name, rows, report, by)
    except BundleError as refusal:
        raise DomainError(refusal.sentence, code="rows") from refusal


def _check_ids(rows: list[tuple[int, dict]], report: RowReport) -> None:
    first: dict[str, int] = {}
    for number, row in rows:
        earlier = first.setdefault(row["id"], number) if "id" in row else number
        if earlier != number:
            report.fault(f"row {number}", f"the id was used before, in row {earlier}")


def _check_references(study: Study, rows: list[tuple[int, dict]], report: RowReport) -> None:
    for key, of in REFERENCES.items():
        named = {number: _named(row, key) for number, row in rows}
        ids = set().union(*named.values())
        there = of(study).filter(external_id__in=ids).values_list("external_id", flat=True)
        unknown = ids - set(there) if ids else set()
        for number, missing in named.items():
            for id in sorted(missing & unknown):
                report.fault(f"row {number}", f"there is no {key} “{id[:80]}”")


def _named(row: dict, key: str) -> set[str]:
    """Ids of ``key`` that a row names; an item names several candidates."""
    several = row.get("candidates", ()) if key == "candidate" else ()
    return {*several, *([row[key]] if row.get(key) else [])}


def _check_items(study: Study, rows: list[tuple[int, dict]], report: RowReport) -> None:
    tasks = {task.name: task for task in study.tasks.order_by("version")}
    for number, row in rows:
        task = tasks.get(row["task"])
        if task is None:
            report.fault(f"row {number}", f"there is no task “{row['task'][:80]}”")
            continue
        task.config = config_of(task.kind, task.config)
        try:
            bundles.check_item(task, row)
        except DomainError as refusal:
            report.fault(f"row {number}", refusal.sentence)
