"""Stores a study bundle, and votes that were collected elsewhere.

Both run in one transaction: a bundle with a fault leaves nothing behind, and the same file again
changes nothing.
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from django.contrib.auth.hashers import make_password
from django.core.exceptions import ValidationError
from django.db import connection, transaction

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.candidates.models import Candidate
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.judging import votesfile
from annotation.judging.kinds import kind_of
from annotation.judging.models import Item, ItemOption, Selection, Slot
from annotation.judging.open import add_items
from annotation.judging.submit import KEY_LIMIT
from annotation.personas import curate
from annotation.personas.models import Memory
from annotation.queries import author
from annotation.studies.bundle import Bundle, Report, read_bundle
from annotation.studies.models import RESERVED_SLUGS, Study, TaskDefinition

CHUNK = 2_000
# Items of one batch: bounds the memory that opening them takes.
BATCH = 20_000
WORKER_LIMIT = User._meta.get_field("worker").max_length
STORED = ("text", "model", "strategy", "urls")


def _silent(rows: Iterable, name: str, total: int) -> Iterable:
    return rows


def read(path) -> Bundle:
    """Read and check the bundle folder ``path``; BundleError names what is wrong, file and line."""
    return read_bundle(path, check_slug=_check_slug, check_task=_check_task)


def import_study(path, by=None) -> dict:
    """Import the bundle folder ``path``; the study's totals after it (see ``store``)."""
    return store(read(path), by)


@transaction.atomic
def store(bundle: Bundle, by=None, progress: Callable = _silent) -> dict:
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
    # Two imports of one study take turns; judging goes on meanwhile.
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
    for chunk in _chunks(rows, CHUNK):
        curate.save_all(study, [row for _, row in chunk], by=by)


def _store_memories(study, rows, report, by) -> None:
    personas = dict(study.personas.values_list("external_id", "pk"))
    for chunk in _chunks(rows, CHUNK):
        wanted = {(personas[row["persona"]], row["text"]): None for _, row in chunk}
        there = Memory.objects.filter(persona__in={persona for persona, _ in wanted})
        known = set(there.values_list("persona_id", "text"))
        Memory.objects.bulk_create(
            Memory(persona_id=persona, text=text)
            for persona, text in wanted
            if (persona, text) not in known
        )


def _store_queries(study, rows, report, by) -> None:
    for chunk in _chunks(rows, CHUNK):
        author.save_all(study, [row for _, row in chunk], by=by)


def _store_candidates(study, rows, report, by) -> None:
    for chunk in _chunks(rows, CHUNK):
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
    for chunk in _chunks(rows, CHUNK):
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


def _chunks(rows: Iterable, size: int) -> Iterator[list]:
    rows = iter(rows)
    while chunk := list(islice(rows, size)):
        yield chunk


# --- Votes ---------------------------------------------------------------------------------------


@transaction.atomic
def import_votes(study, path, progress: Callable = _silent) -> dict:
    """Store the votes of the file ``path`` (CSV or JSON lines) in ``study``.

    Each vote takes an open slot of its item. Workers become accounts that nobody can log in to.
    Returns ``votes``, ``items`` and ``workers``: how many votes of the file, on how many items and
    by how many workers, are in the study now, and ``rejected``: line and reason of every other
    one. Raises votesfile.VotesFileError where the file is no votes file at all.
    """
    votes = _Votes(study)
    rejected = []
    for chunk in _chunks(progress(votesfile.rows(path), "votes", None), CHUNK):
        good = []
        for line, row in chunk:
            if isinstance(row, str):
                rejected.append({"line": line, "reason": row})
            else:
                good.append((line, row))
        rejected += votes.store(good)
    votes.count()
    rejected.sort(key=lambda one: one["line"])
    items, workers = {item for item, _ in votes.stored}, {who for _, who in votes.stored}
    return {
        "votes": len(votes.stored),
        "items": len(items),
        "workers": len(workers),
        "rejected": rejected,
    }


class _Votes:
    """One import of votes: what is stored already, and the counters to add at the end."""

    def __init__(self, study):
        self.study = study
        # (item, worker) of the file's votes that are in the study.
        self.stored: set[tuple] = set()
        self.counters: dict = defaultdict(Counter)

    def store(self, rows) -> list[dict]:
        """Store one chunk of (line, vote); the rejected ones."""
        self.items = self._items({row.task for _, row in rows})
        self.workers = self._people({row.worker for _, row in rows})
        # Read after the slots were locked: whoever held them has finished.
        self.open = self._open_slots()
        self.said = self._said()
        taken, selections, rejected = [], [], []
        for line, row in rows:
            try:
                selection = self._selection(row)
            except DomainError as error:
                rejected.append({"line": line, "reason": error.sentence})
                continue
            if selection:
                taken.append((selection.slot_id, selection.annotator_id))
                selections.append(selection)
        _take_slots(taken)
        Selection.objects.bulk_create(selections)
        return rejected

    def count(self) -> None:
        """Add the new votes to their items' counters, as kinds.selection.store does."""
        names = ("votes_1", "votes_2", "votes_3", "ties", "nones")
        rows = [(pk, n.total(), *(n[name] for name in names)) for pk, n in self.counters.items()]
        if not rows:
            return
        added = ", ".join(f"{name} = i.{name} + v.{name}" for name in ("done", *names))
        arrays = ", ".join(["%s::uuid[]"] + ["%s::int[]"] * 6)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""UPDATE judging_item i SET {added}
                    FROM unnest({arrays}) v (id, done, {", ".join(names)})
                    WHERE i.id = v.id""",  # noqa: S608 - constants only
                [list(column) for column in zip(*rows, strict=True)],
            )

    def _items(self, names) -> dict[str, dict]:
        there = Item.objects.filter(study=self.study, external_id__in=names)
        items = {
            name: {"pk": pk, "kind": kind, "config": config, "overlap": overlap, "options": {}}
            for pk, name, overlap, kind, config in there.values_list(
                "pk", "external_id", "overlap", "batch__task__kind", "batch__task__config"
            )
        }
        options = ItemOption.objects.filter(item__in=there).values_list(
            "item__external_id", "candidate__external_id", "number", "pk"
        )
        for item, candidate, number, pk in options:
            items[item]["options"][candidate] = (number, pk)
        return items

    def _people(self, names) -> dict[str, int]:
        """Accounts of the workers, without an address and unable to log in."""
        wanted = {f"{self.study.slug}:{name}": name for name in names}
        long = {key for key in wanted if len(key) > WORKER_LIMIT}
        keys = wanted.keys() - long
        known = User.objects.filter(worker__in=keys)
        missing = keys - set(known.values_list("worker", flat=True))
        User.objects.bulk_create(
            [
                User(worker=key, password=make_password(None), is_active=False)
                for key in sorted(missing)
            ],
            # Another import may have made the same person a moment ago.
            ignore_conflicts=True,
        )
        return {wanted[key]: pk for key, pk in known.all().values_list("worker", "pk")}

    def _open_slots(self) -> dict[object, list]:
        found = defaultdict(list)
        rows = (
            Slot.objects.select_for_update()
            .filter(item__in=[item["pk"] for item in self.items.values()], status="open")
            .order_by("item", "-ordinal")
        )
        for item, slot in rows.values_list("item_id", "pk"):
            found[item].append(slot)
        return found

    def _said(self) -> dict[tuple, tuple]:
        """What the chunk's workers have said about its items already."""
        rows = Selection.objects.filter(
            slot__item__in=[item["pk"] for item in self.items.values()],
            annotator__in=self.workers.values(),
        )
        return {
            (item, annotator): (outcome, choice)
            for item, annotator, outcome, choice in rows.values_list(
                "slot__item_id", "annotator_id", "outcome", "choice_id"
            )
        }

    def _selection(self, row) -> Selection | None:
        """The judgment to add, None where it is there; DomainError with the reason against it."""
        item, worker = self._place(row)
        number, option = item["options"].get(row.label, (None, None))
        outcome = "choice" if option else row.label
        pair = (item["pk"], worker)
        if pair in self.said:
            if self.said[pair] != (outcome, option):
                raise DomainError(f"{row.worker} has given another vote on this item before")
            self.stored.add(pair)
            return None
        if not self.open[item["pk"]]:
            raise DomainError(f"all {item['overlap']} judgments of the item are taken")
        self.said[pair] = (outcome, option)
        self.stored.add(pair)
        counter = {"tie": "ties", "none": "nones"}.get(outcome, f"votes_{number}")
        self.counters[item["pk"]][counter] += 1
        return Selection(
            slot_id=self.open[item["pk"]].pop(),
            annotator_id=worker,
            key=_key(row),
            digest=_sha256(json.dumps([row.task, row.worker, row.label])),
            # Which order the worker saw is not known.
            shown=[],
            reason=row.reason,
            seconds=row.seconds,
            submitted_at=row.submitted_at,
            imported=True,
            outcome=outcome,
            choice_id=option,
        )

    def _place(self, row) -> tuple[dict, int]:
        """The vote's item and person, after checking both and the label."""
        item = self.items.get(row.task)
        if item is None:
            raise DomainError(f"the study has no item “{row.task[:80]}”")
        if item["kind"] != "selection":
            raise DomainError(f"votes on a task of the kind {item['kind']} cannot be imported")
        if row.label in ("tie", "none"):
            if not item["config"][row.label]:
                raise DomainError(f"the item's task allows no “{row.label}”")
        elif row.label not in item["options"]:
            raise DomainError(f"the item has no candidate “{row.label[:80]}”")
        if row.worker not in self.workers:
            raise DomainError(f"the worker's name is too long: {row.worker[:80]}…")
        return item, self.workers[row.worker]


def _take_slots(taken: list[tuple]) -> None:
    """Mark locked open slots as done by their workers: (slot, worker) pairs."""
    if not taken:
        return
    slots, workers = zip(*taken, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE judging_slot s SET status = 'done', annotator_id = v.worker, returned = false
               FROM unnest(%s::uuid[], %s::bigint[]) v (id, worker) WHERE s.id = v.id""",
            [list(slots), list(workers)],
        )


def _key(row) -> str:
    key = f"import:{row.task}:{row.worker}"
    return key if len(key) <= KEY_LIMIT else f"import:{_sha256(key)}"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
