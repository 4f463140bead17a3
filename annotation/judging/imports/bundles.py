"""Stores a study bundle, or rows of its files without a folder, in one transaction.

What has a fault leaves nothing behind, and the same again changes nothing.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.db import transaction

from annotation import policies
from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.candidates import scores
from annotation.candidates.models import Candidate, Retrieval
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.records import chunks, silent
from annotation.core.schema import built, fields_of
from annotation.judging.batches.open import add_items
from annotation.judging.kinds import config_of, config_of_task, kind_of
from annotation.judging.kinds.kind import Label
from annotation.judging.models import Checks, Item, ItemOption
from annotation.judging.work.hidden_checks import Rates
from annotation.personas import curate
from annotation.personas.models import Attribute, Memory
from annotation.queries import author
from annotation.studies.access import member_of
from annotation.studies.bundle import Bundle, BundleError, Report, Task, check_rows, read_bundle
from annotation.studies.bundle_rows import with_kind
from annotation.studies.models import RESERVED_SLUGS, SLUG, Study, TaskDefinition
from annotation.studies.schemas import IN_A_BUNDLE, NewTask, Settings, settings_of

# Further columns of a study that study.json names, each with what checks and stores it.
FURTHER: dict[str, Callable[[Study, dict], None]] = {}
CHUNK = 2_000
# Lines and rows of one file.
Chunk = Sequence[tuple[int, dict]]
# Items of one batch: bounds the memory that opening them takes.
BATCH = 20_000
STORED = ("text", "model", "strategy", "urls")
NAMES = ("personas", "memories", "queries", "candidates", "scores", "attributes", "items")
# What a row names of other files: the key, and the ids that the study has.
REFERENCES: dict[str, Callable] = {
    "persona": lambda study: study.personas.filter(dropped_at=None),
    "query": lambda study: study.queries.filter(replaced_at=None, owner=None),
    "candidate": lambda study: study.candidates,
    "attribute": lambda study: Attribute.objects.filter(persona__study=study),
}
# The columns with the fields of a bundle's item.
COMPARED = {
    "task": "batch__task__name",
    "purpose": "batch__purpose",
    "query": "query__external_id",
    "attribute": "attribute__external_id",
    "overlap": "overlap",
    "expected": "expected",
    "explanation": "explanation",
}


def load_bundle(path: Path | str) -> Bundle:
    """Read and check the bundle folder ``path``; BundleError names what is wrong, file and line."""
    return read_bundle(
        path,
        check_slug=check_slug,
        check_task=lambda kind, config: kind_of(kind).check_config(config),
        check_item=check_item,
    )


def import_study(path: Path | str, by: User | None = None) -> dict:
    """Import the bundle folder ``path``; the study's totals after it (see ``store``)."""
    return store_bundle(load_bundle(path), by)


@transaction.atomic
def store_bundle(bundle: Bundle, by: User | None = None, progress: Callable = silent) -> dict:
    """Store a checked bundle in the study of its slug, made where missing.

    New rows are added. A changed profile, query, task, guideline or consent text becomes a new
    version; a changed candidate, attribute or item is refused with BundleError, since people may
    have seen it. What the bundle leaves out stays. ``by`` is the user for the audit log,
    ``progress(rows, name, total)`` may show how far it is. Returns the study's slug and the numbers
    of its personas, queries, candidates, items and slots.
    """
    study = store_study(bundle, by)
    report = Report()
    for name in NAMES:
        rows = progress(bundle.rows(name), name, bundle.counts[name])
        store_rows(study, name, rows, report, by)
    return {
        "study": study.slug,
        "personas": study.personas.count(),
        "queries": study.queries.filter(replaced_at=None).count(),
        "candidates": study.candidates.count(),
        "items": study.items.count(),
        "slots": study.slots.count(),
    }


def store_rows(
    study: Study, name: str, rows: Iterable[tuple[int, dict]], report: Report, by: User | None
) -> None:
    """Store checked rows (line and row) of the file ``name``.

    BundleError, or what ``report`` raises.
    """
    if name == "items":
        _store_items(study, rows, report, by)
    else:
        for chunk in chunks(rows, CHUNK):
            _store_chunk(study, name, chunk, report, by)
    report.finish()


def check_slug(slug: str) -> None:
    """DomainError where a study cannot have this address."""
    if slug in RESERVED_SLUGS:
        raise DomainError(f"the slug “{slug}” is the name of a page: choose another")
    if not re.fullmatch(SLUG, slug):
        raise DomainError(f"the slug “{slug}” is not allowed: use a-z, 0-9 and hyphens")


def store_study(bundle: Bundle, by: User | None) -> Study:
    """The study that study.json describes, made where missing, without the other files' rows."""
    about = {name: bundle.study[name] for name in ("title", "description", "languages")}
    study, made = Study.objects.get_or_create(slug=bundle.study["slug"], defaults=about)
    # Two imports into one study take turns; judging goes on meanwhile.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if bundle.study["consent"].strip():
        about["consent_text"] = consent.publish(
            study.slug, bundle.study["consent"], bundle.study["consent_translations"] or None
        )
    if bundle.study["translations"]:
        about["translations"] = bundle.study["translations"]
    about |= _settings(study, bundle.study["settings"])
    changed = [name for name, value in about.items() if getattr(study, name) != value]
    if changed and by and not made:
        member = member_of(by, Study.objects.with_membership(by).get(pk=study.pk))
        if not policies.study.may_administer(member):
            words = f"only an administrator of the study changes its {', '.join(changed)}"
            raise BundleError([f"study.json: {words}"])
    for name in changed:
        setattr(study, name, about[name])
    study.save(update_fields=changed)
    if made or changed:
        audit.record(by, "study.import", study, made=made, changed=changed)
    for task in bundle.tasks:
        store_task(study, task)
    _store_rates(study, bundle.study)
    return study


def _settings(study: Study, named: dict) -> dict:
    """The study's settings as the bundle names them, checked; BundleError."""
    if unknown := named.keys() - set(IN_A_BUNDLE):
        raise BundleError([f"study.json: there is no setting “{min(unknown)[:60]}”"])
    try:
        checked = built(Settings, settings_of(study) | named)
    except DomainError as error:
        raise BundleError([f"study.json: {error.sentence}"]) from error
    return {name: getattr(checked, name) for name in named}


def _store_rates(study: Study, named: dict) -> None:
    """The study's checks, the sources of its answers and more, where the bundle names them."""
    try:
        if named["checks"]:
            rates = asdict(built(Rates, named["checks"]))
            Checks.objects.update_or_create(study=study, defaults=rates)
        if wanted := named["retrieval"]:
            # Only here: retrieval brings numpy.
            from annotation.candidates import retrieve

            retrieve.check_retrieval(wanted)
            Retrieval.objects.update_or_create(study=study, defaults=wanted)
        for name, keep in FURTHER.items():
            if named[name]:
                keep(study, named[name])
    except DomainError as refusal:
        raise BundleError([f"study.json: {refusal.sentence}"]) from refusal


@transaction.atomic
def define_task(study: Study, definition: dict, by: User) -> TaskDefinition:
    """Store a task, in the form of study.json; one that differs from the newest is a new version.

    DomainError where a field or a setting cannot be, or where its name is one of another kind.
    """
    rest = dict(with_kind(definition))
    columns = {name: rest.pop(name) for name in fields_of(NewTask) if name in rest}
    kind = str(rest.pop("kind", ""))
    config = kind_of(kind).check_config(rest)
    task = built(NewTask, columns)
    store_task(study, Task(kind=kind, config=config, **vars(task)))
    defined = study.tasks.filter(name=task.name).order_by("-version")[0]
    audit.record(by, "task.define", defined, version=defined.version)
    return defined


def store_task(study: Study, task: Task) -> None:
    """Add ``task`` (bundle.Task), or a new version of it where it differs."""
    fields = {name: getattr(task, name) for name in ("kind", "overlap", "guideline", "config")}
    if task.translations:
        fields["translations"] = task.translations
    newest = study.tasks.filter(name=task.name).order_by("-version").first()
    if newest and newest.kind != task.kind:
        # Versions of a task are read together.
        words = f"the study has a task “{task.name}” of the kind {newest.kind}: choose another name"
        raise BundleError([f"study.json: {words}"])
    if newest is None or any(_stored(newest, name) != value for name, value in fields.items()):
        version = newest.version + 1 if newest else 1
        translations = {"translations": newest.translations} if newest else {}
        TaskDefinition.objects.create(
            study=study, name=task.name, version=version, **translations | fields
        )


def _stored(task: TaskDefinition, name: str) -> Any:
    """A column of a task; of its settings, also those that came after it was stored."""
    return config_of_task(task) if name == "config" else getattr(task, name)


def _store_chunk(study: Study, name: str, chunk: Chunk, report: Report, by: User | None) -> None:
    """Store some rows of a file that is not of items."""
    rows, faults = [row for _line, row in chunk], []
    if name == "personas":
        curate.save_all(study, rows, by=by)
    elif name == "memories":
        _store_memories(study, rows, by)
    elif name == "queries":
        author.save_all(study, rows, by=by)
    elif name == "candidates":
        faults = _store_candidates(study, chunk, by)
    elif name == "scores":
        faults = scores.store_scores(study, chunk)
    else:
        _added, clashes = curate.save_attributes(study, rows, by=by)
        faults = [(n, curate.clash(row["id"])) for n, row in chunk if row["id"] in clashes]
    for line, reason in faults:
        report.fault(f"{name}.jsonl, line {line}", reason)


def _store_memories(study: Study, rows: Sequence[dict], by: User | None) -> None:
    personas = dict(study.personas.values_list("external_id", "pk"))
    # Of two lines of one memory that with dates counts.
    rows = sorted(rows, key=lambda row: bool(row.get("since") or row.get("until")))
    wanted = {(personas[row["persona"]], row["text"]): row for row in rows}
    there = Memory.objects.filter(persona__in={persona for persona, _ in wanted})
    stored = set()
    for memory in there:
        key = memory.persona_id, memory.text
        stored.add(key)
        days = [wanted[key].get(name) for name in ("since", "until")] if key in wanted else []
        # As of attributes, only the times change, and only where the row has some.
        if any(days) and days != [memory.since, memory.until]:
            memory.since, memory.until = days
            memory.save(update_fields=["since", "until"])
    new = Memory.objects.bulk_create(
        Memory(persona_id=persona, text=text, since=row.get("since"), until=row.get("until"))
        for (persona, text), row in wanted.items()
        if (persona, text) not in stored
    )
    if new:
        audit.record(by, "memories.add", study, memories=len(new))


def _store_candidates(study: Study, chunk: Chunk, by: User | None) -> list[tuple[int, str]]:
    """Add the new ones; line and reason of those that the study has with another content."""
    asked = {row["query"] for _line, row in chunk}
    current = study.queries.filter(external_id__in=asked, replaced_at=None)
    queries = dict(current.values_list("external_id", "pk"))
    there = study.candidates.filter(external_id__in=[row["id"] for _line, row in chunk])
    stored = {
        external_id: fields
        for external_id, *fields in there.values_list("external_id", "query__external_id", *STORED)
    }
    new, faults = [], []
    for line, row in chunk:
        key, query, fields = row["id"], row["query"], {name: row[name] for name in STORED}
        if key not in stored:
            new.append(Candidate(study=study, query_id=queries[query], external_id=key, **fields))
        elif stored[key] != [query, *fields.values()]:
            words = f"the study has another candidate “{key}”, and answers are never edited: "
            faults.append((line, words + "give the new one an id of its own"))
    Candidate.objects.bulk_create(new)
    if new:
        audit.record(by, "candidates.add", study, candidates=len(new))
    return faults


def _store_items(
    study: Study, rows: Iterable[tuple[int, dict]], report: Report, by: User | None
) -> None:
    tasks = {task.name: task for task in study.tasks.order_by("version")}
    waiting = defaultdict(list)

    def open_(batch: tuple[str, str]) -> None:
        task, purpose = batch
        try:
            add_items(study, tasks[task], waiting.pop(batch), purpose=purpose, by=by)
        except DomainError as refusal:
            raise BundleError([f"items.jsonl: {refusal.sentence}"]) from refusal

    for chunk in chunks(rows, CHUNK):
        for line, row in _unknown_items(study, chunk, tasks, report):
            batch = row["task"], row["purpose"]
            if made := _row(line, row, tasks[row["task"]], report):
                waiting[batch].append(made)
            if len(waiting[batch]) == BATCH:
                open_(batch)
    report.finish()
    for batch in list(waiting):
        open_(batch)


def _unknown_items(
    study: Study, chunk: Chunk, tasks: dict[str, TaskDefinition], report: Report
) -> Iterator[tuple[int, dict]]:
    """Line and row of each item that the study does not have, its references read."""
    stored = _stored_items(study, [row["id"] for _, row in chunk])
    named = {name: {row[name] for _, row in chunk} for name in ("query", "attribute")}
    current = study.queries.filter(external_id__in=named["query"], replaced_at=None)
    queries = {query.external_id: query for query in current}
    attributes = Attribute.objects.filter(persona__study=study, external_id__in=named["attribute"])
    traits = {attribute.external_id: attribute for attribute in attributes}
    answers = {id for _, row in chunk for id in row["candidates"]}
    shown = study.candidates.filter(external_id__in=answers).values_list(
        "external_id", "pk", "query_id", named=True
    )
    candidates = {candidate.external_id: candidate for candidate in shown}
    versions = {query.pk: query for query in queries.values()}
    # Answers may be to an older version of their question.
    older = {candidate.query_id for candidate in candidates.values()} - versions.keys()
    versions |= study.queries.in_bulk(older)
    for line, row in chunk:
        there = stored.get(row["id"])
        if there is None:
            options = [candidates[id] for id in row["candidates"]]
            query = versions[options[0].query_id] if options else queries.get(row["query"])
            references = {"query": query, "attribute": traits.get(row["attribute"])}
            yield line, row | references | {"options": options}
        elif not _same_item(there, row, tasks[row["task"]]):
            report.fault(
                f"items.jsonl, line {line}",
                f"the study has another item “{row['id']}”, and people may have seen it: give "
                "the new one an id of its own",
            )


def _row(line: int, row: dict, task: TaskDefinition, report: Report) -> dict | None:
    """The row of ``add_items``; None after a fault."""
    options = row["options"]
    # A query that was changed has older answers to its older version.
    if len({option.query_id for option in options}) > 1:
        words = f"the candidates answer different versions of “{row['query'].external_id}”"
        report.fault(f"items.jsonl, line {line}", words)
        return None
    return {
        "external_id": row["id"],
        "query": row["query"],
        "attribute": row["attribute"],
        "candidates": [option.pk for option in options],
        "overlap": row["overlap"] or task.overlap,
        "expected": _expected(task, row),
        "explanation": row["explanation"],
    }


def _stored_items(study: Study, ids: list[str]) -> dict[str, dict]:
    there = Item.objects.filter(study=study, external_id__in=ids)
    stored = {
        row["external_id"]: {name: row[field] for name, field in COMPARED.items()}
        | {"candidates": []}
        for row in there.values("external_id", *COMPARED.values())
    }
    options = ItemOption.objects.filter(item__in=there).order_by("item", "number")
    for item, candidate in options.values_list("item__external_id", "candidate__external_id"):
        stored[item]["candidates"].append(candidate)
    return stored


def _same_item(there: dict, row: dict, task: TaskDefinition) -> bool:
    fields = {name: row[name] for name in there}
    # An item that names no overlap took the task's of its time.
    overlap = row["overlap"] or there["overlap"]
    return there == fields | {"overlap": overlap, "expected": _expected(task, row)}


def check_item(task: TaskDefinition, row: dict) -> None:
    """DomainError with a sentence where ``row`` (bundle.ITEM) is no item of ``task``.

    ``task`` has ``name``, ``kind`` and a checked ``config``.
    """
    named = f"the task “{task.name}”"
    asks = kind_of(task.kind).asks(task.config)
    if "gold" in asks:
        raise DomainError(f"{named} plans its items itself, from gold responses")
    if task.config["owner_only"]:
        raise DomainError(f"in {named} only a query's owner judges, and a bundle's have none")
    for name in ("query", "attribute"):
        if row[name] is None and (name in asks or task.config.get(name) is True):
            raise DomainError(f"{named} asks for “{name}”")
        if row[name] is not None and name not in asks and name not in task.config:
            raise DomainError(f"{named} shows no {name}")
    _check_candidates(task, row, named)
    if row["purpose"] == "work":
        if row["expected"] is not None or row["explanation"]:
            raise DomainError("only training and gold items have “expected” and “explanation”")
        return
    _expected(task, row)
    if row["purpose"] == "training" and not row["explanation"].strip():
        raise DomainError("a training item needs an “explanation”: whoever trains reads it")


def _expected(task: TaskDefinition, row: dict) -> Label | None:
    """The right answer of a check as its kind's label; None of an item that is work.

    DomainError where it is no answer to this item.
    """
    if row["purpose"] == "work":
        return None
    return kind_of(task.kind).expected(row["expected"], row, task.config)


def _check_candidates(task: TaskDefinition, row: dict, named: str) -> None:
    n = len(row["candidates"])
    least, most = kind_of(task.kind).options_range(task.config)
    if least <= n <= most:
        return
    if not most:
        raise DomainError(f"{named} shows no candidates")
    wanted = f"{least}" if least == most else f"{least} to {most}"
    raise DomainError(f"{named} shows {wanted} candidates, not {n}")


# Rows without a folder: what the API's bulk calls add


class FaultyRowsError(DomainError):
    """Rows that cannot be stored; nothing was. ``faults`` are {"row" (from 0), "detail"}."""

    code = "rows"

    def __init__(self, faults: list[dict[str, Any]]) -> None:
        super().__init__(f"{len(faults)} of the rows cannot be stored; nothing was.")
        # What a program reads beside the sentence.
        self.faults, self.members = faults, {"faults": faults}


class RowReport(Report):
    """Faults of numbered rows; unlike a file's report it goes on to the last one."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []

    def fault(self, place: str, words: str) -> None:
        """Note a fault; ``place`` ends with the row's number."""
        self.rows.append({"row": int(place.rsplit(" ", 1)[1]), "detail": words})

    def unknown(self, name: str, place: str, key: str) -> None:
        self.fault(place, f"the key “{key[:80]}” is not part of the format")

    def finish(self) -> None:
        if self.rows:
            raise FaultyRowsError(sorted(self.rows, key=lambda fault: fault["row"]))


def add_rows(
    study: Study, name: str, values: list, *, skip_faulty: bool = False, by: User | None = None
) -> list[dict[str, Any]]:
    """Add ``values``, rows of the bundle's file ``name`` (NAMES), to ``study``.

    All of them are stored or, where one is faulty, none: FaultyRowsError. With ``skip_faulty`` the
    faulty ones are left out and returned. A row that the study has already changes nothing.
    """
    rows = dict(enumerate(values))
    faults: list[dict[str, Any]] = []
    while True:
        try:
            _add(study, name, rows, by)
        except FaultyRowsError as refusal:
            if not skip_faulty:
                raise
            faults += refusal.faults
            for fault in refusal.faults:
                rows.pop(fault["row"], None)
        else:
            return sorted(faults, key=lambda fault: fault["row"])


@transaction.atomic
def _add(study: Study, name: str, values: dict[int, object], by: User | None) -> None:
    report = RowReport()
    rows = check_rows(name, values, report)
    first: dict[str, int] = {}
    for number, row in rows:
        earlier = first.setdefault(row["id"], number) if "id" in row else number
        if earlier != number:
            report.fault(f"row {number}", f"the id was used before, in row {earlier}")
    _check_references(study, rows, report)
    if name == "items":
        _check_items(study, rows, report)
    report.finish()
    try:
        store_rows(study, name, rows, report, by)
    except BundleError as refusal:
        raise DomainError(refusal.sentence, code="rows") from refusal


def _check_references(study: Study, rows: list[tuple[int, dict]], report: RowReport) -> None:
    for key, of in REFERENCES.items():
        # An item names several candidates.
        name = "candidates" if key == "candidate" else key
        named = {number: _ids_of(row.get(name)) for number, row in rows}
        ids = set().union(*named.values())
        there = of(study).filter(external_id__in=ids).values_list("external_id", flat=True)
        unknown = ids - set(there) if ids else set()
        for number, missing in named.items():
            for id in sorted(missing & unknown):
                report.fault(f"row {number}", f"there is no {key} “{id[:80]}”")


def _ids_of(value: str | list[str] | None) -> set[str]:
    return set(value) if isinstance(value, list) else {value} if value else set()


def _check_items(study: Study, rows: list[tuple[int, dict]], report: RowReport) -> None:
    tasks = {task.name: task for task in study.tasks.order_by("version")}
    for number, row in rows:
        task = tasks.get(row["task"])
        if task is None:
            report.fault(f"row {number}", f"there is no task “{row['task'][:80]}”")
            continue
        task.config = config_of(task.kind, task.config)
        try:
            check_item(task, row)
        except DomainError as refusal:
            report.fault(f"row {number}", refusal.sentence)
