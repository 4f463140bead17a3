"""Open batches: make items, number them, and insert their slots."""

from django.db import connection, transaction
from django.db.models import Max, Q
from django.db.models.functions import Now

from annotation.candidates.models import Candidate
from annotation.core import audit
from annotation.core.errors import Conflict
from annotation.judging import plan
from annotation.judging.models import Batch, Item, ItemOption, Slot
from annotation.personas.models import PersonaVersion
from annotation.queries.models import Query
from annotation.studies.models import Study, TaskDefinition


@transaction.atomic
def open_batch(study, task: TaskDefinition, *, overlap: int | None = None, by=None) -> Batch | None:
    """Plan items for every query that has none in this task yet, and open their slots.

    A task with three options takes the query's three answers; one with two draws
    ``pairs_per_query`` random pairs of them. ``overlap`` is the number of judgments an item
    (default: the task's). Returns the batch, or None where there was nothing new to plan.
    """
    overlap = overlap or task.overlap
    # Two openings at once would plan the same queries twice.
    Study.objects.select_for_update().get(pk=study.pk)
    rows = [
        {
            "external_id": f"{task.name}-{query.external_id}-v{query.version}-{number}",
            "query": query,
            "candidates": options,
            "overlap": overlap,
        }
        for query, candidates in _answered(study, task)
        for number, options in enumerate(_plan(query, candidates, task), start=1)
    ]
    return add_items(study, task, rows, by=by) if rows else None


def add_items(study, task: TaskDefinition, rows: list[dict], *, by=None) -> Batch:
    """Store items and open their slots, in the order given; part of the caller's transaction.

    Each row has ``external_id``, ``query`` (Query), ``candidates`` (ids in canonical order) and
    ``overlap``. A draft is opened by it; Conflict where an administrator has closed the study.
    """
    if study.status == Study.Status.CLOSED:
        raise Conflict("The study is closed: an administrator can open it again.", code="closed")
    batch = Batch.objects.create(study=study, task=task, size=len(rows))
    last = Item.objects.filter(study=study).aggregate(last=Max("position"))["last"] or 0
    versions = _versions(study, rows)
    items = [
        Item(
            study=study,
            batch=batch,
            external_id=row["external_id"],
            query=row["query"],
            persona_version_id=version,
            position=position,
            overlap=row["overlap"],
        )
        for position, (row, version) in enumerate(zip(rows, versions, strict=True), start=last + 1)
    ]
    Item.objects.bulk_create(items, batch_size=2000)
    ItemOption.objects.bulk_create(
        (
            ItemOption(item=item, number=number, candidate_id=candidate)
            for item, row in zip(items, rows, strict=True)
            for number, candidate in enumerate(row["candidates"], start=1)
        ),
        batch_size=5000,
    )
    _insert_slots(batch)
    if study.status == Study.Status.DRAFT:
        study.status = Study.Status.OPEN
        study.save(update_fields=["status"])
    audit.record(by, "batch.open", batch, items=len(items), task=task.pk)
    return batch


@transaction.atomic
def close_batch(batch: Batch, *, by=None) -> None:
    """Hand out nothing more of this batch; what people hold may still be submitted."""
    Batch.objects.filter(pk=batch.pk, closed_at=None).update(closed_at=Now())
    Slot.objects.filter(item__batch=batch, status=Slot.Status.OPEN).update(
        status=Slot.Status.CLOSED
    )
    audit.record(by, "batch.close", batch)


def _answered(study, task):
    """Queries without an item in this task, each with its answers."""
    queries = (
        Query.objects.filter(study=study, replaced_at=None)
        .filter(Q(persona=None) | Q(persona__dropped_at=None))
        .exclude(items__batch__task__name=task.name)
        .order_by("pk")
    )
    by_query = {}
    for candidate in Candidate.objects.filter(query__in=queries, status="done").order_by(
        "created_at", "pk"
    ):
        by_query.setdefault(candidate.query_id, []).append(candidate)
    return [(query, by_query.get(query.pk, [])) for query in queries]


def _plan(query, candidates, task) -> list[tuple]:
    seed = f"{task.name}/{query.pk}"
    if task.config["options"] == 2:
        return plan.pairs(*_ids_and_texts(candidates), task.config["pairs_per_query"], seed)
    for answers in _sets(candidates):
        if triple := plan.triple(*_ids_and_texts(answers[:3]), seed):
            return [triple]
    return []


def _sets(candidates) -> list[list]:
    """Answers of one endpoint and model, an answer a strategy; the most complete set first."""
    if len(candidates) == 3 and len({candidate.endpoint for candidate in candidates}) == 1:
        return [candidates]
    sets = {}
    for candidate in candidates:
        found = sets.setdefault((candidate.endpoint, candidate.model), {})
        # Imported answers may name no strategy: each of them stands for itself.
        found.setdefault(candidate.strategy or candidate.pk, candidate)
    return sorted((list(found.values()) for found in sets.values()), key=len, reverse=True)


def _ids_and_texts(candidates) -> tuple[list, list]:
    return [one.pk for one in candidates], [one.text for one in candidates]


def _versions(study, rows: list[dict]) -> list:
    """The persona version of each row: the one its answers were written for, else the newest."""
    personas = {row["query"].persona_id for row in rows}
    known = PersonaVersion.objects.filter(persona__in=personas).order_by("version")
    newest = dict(known.values_list("persona_id", "pk"))
    written = dict(
        Candidate.objects.filter(study=study)
        .exclude(persona_version=None)
        .values_list("pk", "persona_version_id")
    )
    found = []
    for row in rows:
        theirs = {written[pk] for pk in row["candidates"] if pk in written}
        persona = row["query"].persona_id
        found.append(theirs.pop() if len(theirs) == 1 else newest.get(persona))
    return found


def _insert_slots(batch: Batch) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO judging_slot (id, study_id, item_id, ordinal, position, status, returned)
               SELECT gen_random_uuid(), i.study_id, i.id, n, i.position, 'open', false
               FROM judging_item i, generate_series(0, i.overlap - 1) n
               WHERE i.batch_id = %s""",
            [batch.pk],
        )
        # The hand-out reads these tables at once; the planner must not take them for empty.
        cursor.execute("ANALYZE judging_slot, judging_item")
