"""Stores a study bundle, in one transaction.

A bundle with a fault leaves nothing behind, and the same bundle again changes nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator

from django.core.exceptions import ValidationError
from django.db import transaction

from annotation.accounts import consent
from annotation.candidates.models import Candidate
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.rows import chunks, silent
from annotation.judging.kinds import kind_of
from annotation.judging.models import Item, ItemOption
from annotation.judging.open import add_items
from annotation.personas import curate
from annotation.personas.models import Memory
from annotation.queries import author
from annotation.studies.bundle import Bundle, Report, read_bundle
from annotation.studies.models import RESERVED_SLUGS, Study, TaskDefinition

CHUNK = 2_000
# Items of one batch: bounds the memory that opening them takes.
BATCH = 20_000
STORED = ("text", "model", "strategy", "urls")


def read(path) -> Bundle:
    """Read and check the bundle folder ``path``; BundleError names what is wrong, file and line."""
    return read_bundle(path, check_slug=_check_slug, check_task=_check_task)


def import_study(path, by=None) -> dict:
    """Import the bundle folder ``path``; the study's totals after it (see ``store``)."""
    return store(read(path), by)


@transaction.atomic
def store(bundle: Bundle, by=None, progress: Callable = silent) -> dict:
    """Store a checked bundle in the study of its slug, made where missing.

    New rows are added. A changed profile, query, task, guideline or consent text becomes a new
    version; a changed candidate or item is refused with BundleError, since people may have seen
    it. What the bundle leaves out stays. ``by`` is the user for the audit log, ``progress(rows,
    name, total)`` may show how far it is. Returns the study's slug and the numbers of its
    personas, queries, candidates, items and slots.
    """
    study = _store_study(bundle, by)
    report = Report()
    for name, keep in _STEPS.items():
        rows = progress(bundle.rows(name), name, bundle.counts[name])
        keep(study, rows, report, by)
        report.finish()
    return _totals(study)


def _check_slug(slug: str) -> None:
    try:
        Study._meta.get_field("slug").clean(slug, None)
    except ValidationError as error:
        raise DomainError(f"the slug “{slug}” is not allowed: {error.messages[0]}") from error
    if slug in RESERVED_SLUGS:
        raise DomainError(f"the slug “{slug}” is the name of a page: choose another")


def _check_task(kind: str, config: dict) -> dict:
    return kind_of(kind).check_config(config)


def _store_study(bundle: Bundle, by) -> Study:
    about = {name: bundle.study[name] for name in ("title", "description", "languages")}
    study, made = Study.objects.get_or_create(slug=bundle.study["slug"], defaults=about)
    # Two imports into one study take turns; judging goes on meanwhile.
    study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if bundle.study["consent"].strip():
        about["consent_text"] = consent.publish(study.slug, bundle.study["consent"])
    changed = [name for name, value in about.items() if getattr(study, name) != value]
    for name in changed:
        setattr(study, name, about[name])
    study.save(update_fields=changed)
    if made or changed:
        audit.record(by, "study.import", study, made=made, changed=changed)
    for task in bundle.tasks:
        _store_task(study, task)
    return study


def _store_task(study, task) -> None:
    said = {name: getattr(task, name) for name in ("kind", "overlap", "guideline", "config")}
    newest = study.tasks.filter(name=task.name).order_by("-version").first()
    if newest is None or any(getattr(newest, name) != value for name, value in said.items()):
        version = newest.version + 1 if newest else 1
        TaskDefinition.objects.create(study=study, name=task.name, version=version, **said)


def _store_personas(study, rows, report, by) -> None:
    for chunk in chunks(rows, CHUNK):
        curate.save_all(study, [row for _, row in chunk], by=by)


def _store_memories(study, rows, report, by) -> None:
    personas = dict(study.personas.values_list("external_id", "pk"))
    for chunk in chunks(rows, CHUNK):
        wanted = {(personas[row["persona"]], row["text"]): None for _, row in chunk}
        there = Memory.objects.filter(persona__in={persona for persona, _ in wanted})
        known = set(there.values_list("persona_id", "text"))
        Memory.objects.bulk_create(
            Memory(persona_id=persona, text=text)
            for persona, text in wanted
            if (persona, text) not in known
        )


def _store_queries(study, rows, report, by) -> None:
    for chunk in chunks(rows, CHUNK):
        author.save_all(study, [row for _, row in chunk], by=by)


def _store_candidates(study, rows, report, by) -> None:
    for chunk in chunks(rows, CHUNK):
        queries = dict(
            study.queries.filter(
                external_id__in={row["query"] for _, row in chunk}, replaced_at=None
            ).values_list("external_id", "pk")
        )
        there = study.candidates.filter(external_id__in=[row["id"] for _, row in chunk])
        known = {
            external_id: said
            for external_id, *said in there.values_list(
                "external_id", "query__external_id", *STORED
            )
        }
        new = []
        for line, row in chunk:
            said = {name: row[name] for name in STORED}
            if row["id"] not in known:
                new.append(
                    Candidate(
                        study=study, query_id=queries[row["query"]], external_id=row["id"], **said
                    )
                )
            elif known[row["id"]] != [row["query"], *said.values()]:
                report.fault(
                    f"candidates.jsonl, line {line}",
                    f"the study has another candidate “{row['id']}”, and answers are never edited: "
                    "give the new one an id of its own",
                )
        Candidate.objects.bulk_create(new)


def _store_items(study, rows, report, by) -> None:
    tasks = {task.name: task for task in study.tasks.order_by("version")}
    waiting = defaultdict(list)
    for chunk in chunks(rows, CHUNK):
        for task, row in _new_items(study, chunk, report):
            waiting[task].append(row)
            row["overlap"] = row["overlap"] or tasks[task].overlap
            if len(waiting[task]) == BATCH:
                add_items(study, tasks[task], waiting.pop(task), by=by)
    for task, items in waiting.items():
        add_items(study, tasks[task], items, by=by)


def _new_items(study, chunk, report) -> Iterator[tuple[str, dict]]:
    """Task and ``add_items`` row of each item that the study does not have yet."""
    known = _known_items(study, [row["id"] for _, row in chunk])
    named = {candidate for _, row in chunk for candidate in row["candidates"]}
    candidates = {
        candidate.external_id: candidate
        for candidate in study.candidates.filter(external_id__in=named)
        .only("pk", "external_id", "query__persona_id")
        .select_related("query")
    }
    for line, row in chunk:
        place = f"items.jsonl, line {line}"
        options = [candidates[candidate] for candidate in row["candidates"]]
        there = known.get(row["id"])
        if there:
            if not _same_item(there, row):
                report.fault(
                    place,
                    f"the study has another item “{row['id']}”, and people may have seen it: give "
                    "the new one an id of its own",
                )
        # A query that was changed has older answers to its older version.
        elif len({option.query_id for option in options}) > 1:
            report.fault(place, f"the candidates answer different versions of “{row['query']}”")
        else:
            yield (
                row["task"],
                {
                    "external_id": row["id"],
                    "query": options[0].query,
                    "candidates": [option.pk for option in options],
                    "overlap": row["overlap"],
                },
            )


def _known_items(study, ids) -> dict[str, dict]:
    there = Item.objects.filter(study=study, external_id__in=ids)
    known = {
        external_id: {"task": task, "query": query, "overlap": overlap, "candidates": []}
        for external_id, task, query, overlap in there.values_list(
            "external_id", "batch__task__name", "query__external_id", "overlap"
        )
    }
    options = ItemOption.objects.filter(item__in=there).order_by("item", "number")
    for item, candidate in options.values_list("item__external_id", "candidate__external_id"):
        known[item]["candidates"].append(candidate)
    return known


def _same_item(there: dict, row: dict) -> bool:
    said = {name: row[name] for name in there}
    # An item that names no overlap took the task's of its time.
    return there == said | {"overlap": row["overlap"] or there["overlap"]}


_STEPS = {
    "personas": _store_personas,
    "memories": _store_memories,
    "queries": _store_queries,
    "candidates": _store_candidates,
    "items": _store_items,
}


def _totals(study) -> dict:
    return {
        "study": study.slug,
        "personas": study.personas.count(),
        "queries": study.queries.filter(replaced_at=None).count(),
        "candidates": study.candidates.count(),
        "items": study.items.count(),
        "slots": study.slots.count(),
    }
