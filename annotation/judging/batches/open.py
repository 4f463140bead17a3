"""Open batches: make items, number them, and insert their slots."""

import hashlib
from collections.abc import Iterable
from functools import partial
from itertools import islice

from django.db import connection, transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotation.candidates.models import Candidate
from annotation.core import audit, sql
from annotation.core.errors import Conflict, DomainError
from annotation.judging import ordering
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.models import Batch, Checks, Desk, Item, ItemOption, Slot
from annotation.judging.owner import notices
from annotation.personas.models import Persona, PersonaVersion
from annotation.studies.models import Membership, Study, TaskDefinition


@transaction.atomic
def open_batch(
    study,
    task: TaskDefinition,
    *,
    overlap: int | None = None,
    scope: Scope = EVERYTHING,
    seen: str = "",
    by=None,
) -> Batch | None:
    """Plan items of what ``task`` asks about and does not have yet, and open their slots.

    The kind of the task plans them, within ``scope``. ``overlap`` is the number of judgments an
    item (default: the task's). ``seen`` is the digest of the plan that somebody agreed to: Conflict
    where it would be another by now. Returns the batch, or None where nothing was new. Raises
    DomainError where nothing can be planned for want of answers or of earlier judgments.
    """
    # Two openings at once would plan the same queries twice.
    Study.objects.select_for_update().get(pk=study.pk)
    rows = planned(study, task, scope)
    if seen and seen != digest(rows):
        raise Conflict(
            _("The study has changed since: look at the batch once more."), code="changed"
        )
    if not rows and scope.control:
        raise DomainError(
            _("No query has a generic answer (A3) beside others that are not compared yet."),
            code="no_control",
        )
    if not rows and (lacking := kind_of(task.kind).lacking(study, task, scope)):
        raise DomainError(lacking.sentence, code="lacking")
    rows = [{"overlap": overlap or task.overlap} | row for row in rows]
    return add_items(study, task, rows, by=by) if rows else None


def planned(study, task: TaskDefinition, scope: Scope = EVERYTHING) -> list[dict]:
    """The rows of the items that a batch of ``task`` would hold."""
    kind = kind_of(task.kind)
    if scope.control and not kind.takes_control(task.config):
        raise DomainError(
            _("This task compares no answers to a query, so it can hide no control among them."),
            code="control",
        )
    rows: Iterable[dict] = kind.plan(study, task, scope)
    if scope.mixed:
        rows = ordering.mixed(sorted(rows, key=lambda row: row["external_id"]), task.name)
    return list(islice(rows, scope.number))


def digest(rows: list[dict]) -> str:
    """A name of the items that ``rows`` make, with their answers."""
    parts = [(row["external_id"], *map(str, row.get("candidates", ()))) for row in rows]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def add_items(
    study, task: TaskDefinition, rows: list[dict], *, purpose=Batch.Purpose.WORK, by=None
) -> Batch:
    """Store items and open their slots, in the order given; part of the caller's transaction.

    Each row has ``external_id``, ``overlap``, ``candidates`` (ids in canonical order), ``query``,
    ``attribute`` and ``gold`` (rows or None) as the task's kind asks, and checks ``expected`` and
    ``explanation``. Only work gets slots: those of checks are made as they are handed out. A draft
    is opened by it; Conflict where an administrator has closed the study, DomainError where an
    owner's task meets a query without one, or an item is about a training persona.
    """
    if study.status == Study.Status.CLOSED:
        raise Conflict("The study is closed: an administrator can open it again.", code="closed")
    bound = task.config.get("owner_only", False)
    if bound and any(row["query"] is None or row["query"].owner_id is None for row in rows):
        raise DomainError(
            "Only the owner of a query judges in this task, and a query here has no owner.",
            code="no_owner",
        )
    if Persona.objects.filter(pk__in={_persona(row) for row in rows}, split="training").exists():
        raise DomainError(
            _("An item here is about a training persona: people judge the benchmark's alone."),
            code="training",
        )
    if task.config.get("attribute") and any(row.get("attribute") is None for row in rows):
        raise DomainError(
            _("This task shows an attribute of the person, and an item here names none."),
            code="no_attribute",
        )
    batch = Batch.objects.create(study=study, task=task, size=len(rows), purpose=purpose)
    items = _items(study, batch, rows, bound)
    Item.objects.bulk_create(items, batch_size=2000)
    ItemOption.objects.bulk_create(
        (
            ItemOption(item=item, number=number, candidate_id=candidate)
            for item, row in zip(items, rows, strict=True)
            for number, candidate in enumerate(row.get("candidates", ()), start=1)
        ),
        batch_size=5000,
    )
    if purpose != Batch.Purpose.WORK:
        # Its being there is what makes the hand-out ask for checks.
        Checks.objects.get_or_create(study=study)
    else:
        insert_slots(batch, bound)
        # Who had nothing left looks again. A claim under way holds its desk: it ends before this.
        Desk.objects.filter(study=study, exhausted_at__isnull=False).update(exhausted_at=None)
        if bound:
            notices.announce(batch, by)
        if study.status == Study.Status.DRAFT:
            study.status = Study.Status.OPEN
            study.save(update_fields=["status"])
    audit.record(by, "batch.open", batch, items=len(items), task=task.pk, purpose=purpose)
    return batch


def _items(study, batch, rows, bound: bool) -> list[Item]:
    last = Item.objects.filter(study=study).aggregate(last=Max("position"))["last"] or 0
    versions = _versions(study, rows)
    return [
        Item(
            study=study,
            batch=batch,
            external_id=row["external_id"],
            query=row.get("query"),
            attribute=row.get("attribute"),
            gold=row.get("gold"),
            expected=row.get("expected"),
            explanation=row.get("explanation", ""),
            persona_version_id=version,
            position=position,
            # There is one owner.
            overlap=1 if bound else row["overlap"],
        )
        for position, (row, version) in enumerate(zip(rows, versions, strict=True), start=last + 1)
    ]


@transaction.atomic
def close_batch(batch: Batch, *, by=None) -> None:
    """Hand out nothing more of this batch; what people hold may still be submitted."""
    Batch.objects.filter(pk=batch.pk, closed_at=None).update(closed_at=Now())
    Slot.objects.filter(item__batch=batch, status=Slot.Status.OPEN).update(
        status=Slot.Status.CLOSED
    )
    audit.record(by, "batch.close", batch)


def _versions(study, rows: list[dict]) -> list:
    """The persona version of each row: the one its answers were written for, else the newest."""
    personas = {_persona(row) for row in rows}
    versions = PersonaVersion.objects.filter(persona__in=personas).order_by("version")
    newest = dict(versions.values_list("persona_id", "pk"))
    written = dict(
        Candidate.objects.filter(study=study)
        .exclude(persona_version=None)
        .values_list("pk", "persona_version_id")
    )
    chosen = []
    for row in rows:
        written_for = {written[pk] for pk in row.get("candidates", ()) if pk in written}
        chosen.append(
            written_for.pop() if len(written_for) == 1 else newest.get(_persona(row) or 0)
        )
    return chosen


def _persona(row: dict) -> int | None:
    about = row.get("query") or row.get("attribute")
    return about.persona_id if about else None


def insert_slots(batch: Batch, bound: bool = False) -> None:
    """Open the slots of a batch whose items are stored; ``bound``: for their owners alone."""
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO judging_slot (id, study_id, item_id, ordinal, position, status, returned,
                                         reserved_for_id, withheld_from_id)
               SELECT gen_random_uuid(), i.study_id, i.id, n, i.position, 'open', false,
                      CASE WHEN %(bound)s THEN q.owner_id END,
                      CASE WHEN NOT %(bound)s THEN q.owner_id END
               FROM judging_item i LEFT JOIN queries_query q ON q.id = i.query_id,
                    generate_series(0, i.overlap - 1) n
               WHERE i.batch_id = %(batch)s""",
            {"batch": batch.pk, "bound": bound},
        )
    # The hand-out reads these tables at once; the planner must not take them for empty. After the
    # commit: until its transaction ends, ANALYZE keeps that of every other import waiting.
    tables = (Slot, Item, ItemOption, Batch, Candidate, TaskDefinition, Study, Membership)
    transaction.on_commit(partial(sql.analyze, *tables), robust=True)
