"""Training, hidden gold items and repeats: which of them a person gets, and who was right.

A check is an item like any other, in a batch that does not count (Batch.Purpose). It has no slots
of its own: one is made for one person, in the transaction that hands it out.
"""

import math
import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic.dataclasses import dataclass as schema

from annotation.accounts.models import User
from annotation.core import audit, sql
from annotation.core.schema import asked
from annotation.judging.kinds import answers_of, config_of_task, kind_of
from annotation.judging.kinds.kind import Label
from annotation.judging.models import (
    Batch,
    Checks,
    Handback,
    Item,
    ItemOption,
    Judgment,
    Participation,
    Slot,
)
from annotation.studies.models import Study

Purpose = Batch.Purpose
# What the ids of hidden repeats begin with; other repeats are retests of an owner's items.
HIDDEN_REPEAT = "hidden-repeat-"
# What a handed-back check waits for: the person it was made for.
_WAITING = """
    UPDATE judging_slot SET status = 'held', annotator_id = %(me)s, returned = false,
           claimed_at = now(), lease_expires_at = now() + %(lease)s
    WHERE id = (SELECT s.id FROM judging_slot s
                JOIN judging_item i ON i.id = s.item_id JOIN judging_batch b ON b.id = i.batch_id
                WHERE s.reserved_for_id = %(me)s AND s.study_id = %(study)s AND s.status = 'open'
                  AND b.purpose <> 'work'
                  AND NOT EXISTS (SELECT 1 FROM judging_handback h
                                  WHERE h.annotator_id = %(me)s AND h.item_id = s.item_id
                                    AND h.cause = 'skipped')
                ORDER BY b.purpose <> 'training', s.position LIMIT 1 FOR UPDATE OF s)
    RETURNING id"""
_MAKE = """
    INSERT INTO judging_slot (id, study_id, item_id, ordinal, position, status, returned,
                              annotator_id, reserved_for_id, claimed_at, lease_expires_at)
    SELECT gen_random_uuid(), i.study_id, i.id,
           (SELECT coalesce(max(o.ordinal) + 1, 0) FROM judging_slot o WHERE o.item_id = i.id),
           coalesce(i.position, (SELECT o.position FROM judging_item o WHERE o.id = i.repeats_id)),
           'held', false, %(me)s, %(me)s, now(), now() + %(lease)s
    FROM judging_item i WHERE i.id = %(item)s
    RETURNING id"""


@schema(frozen=True)
class Rates:
    """How often a study trains and checks (models.Checks)."""

    pass_mark: float = asked(
        gettext_lazy("Training: percent that must be right"),
        0,
        gettext_lazy("Who stays below it gets no work. 0: everybody passes."),
        ge=0,
        le=1,
        unit="percent",
    )
    gold_every: int = asked(
        gettext_lazy("One gold item in so many judgments"),
        0,
        gettext_lazy("On average, at irregular places. 0: never."),
        ge=0,
        le=10_000,
    )
    repeat_every: int = asked(
        gettext_lazy("One repeat in so many judgments"),
        0,
        gettext_lazy("An own item again, at least so many judgments later. 0: never."),
        ge=0,
        le=10_000,
    )
    retest_number: int = asked(
        gettext_lazy("Own items that each owner judges again"),
        0,
        gettext_lazy("For test-retest reliability, of tasks for owners. 0: none."),
        ge=0,
        le=1_000,
    )
    retest_share: float = asked(
        gettext_lazy("or percent of their items"),
        0,
        gettext_lazy("Where no number is given."),
        ge=0,
        le=1,
        unit="percent",
    )
    retest_days: int = asked(gettext_lazy("Days until they judge again, at least"), 7, ge=0, le=365)


@dataclass(frozen=True)
class Outcome:
    """A person's first answer to a check, and whether it was right (a repeat: the same again)."""

    annotator: int
    item: Item
    judgment: Judgment
    label: Label | None
    expected: Label | None
    right: bool

    @property
    def at(self) -> datetime:
        return self.judgment.submitted_at


def next_slot(participation: Participation, rates: Rates, done: int) -> UUID | None:
    """Hand out the check that is due for the person after ``done`` judgments, or None.

    All training comes first, then each gold item and each repeat at a newly drawn place: one in
    ``gold_every`` (``repeat_every``) judgments on average, irregularly, so that nobody can count
    them off. Owners then get the items that they judge once more. Whoever fails the training is
    stopped. The caller holds the lock and the person holds nothing.
    """
    slot = sql.first(_WAITING, _values(participation))
    if slot:
        return slot[0]
    if training := _fresh(participation, Purpose.TRAINING).first():
        return _hand_out(participation, training)
    if not _qualified(participation, rates.pass_mark):
        return None
    item = None
    if _due(participation, "next_gold", rates.gold_every, done):
        item = _gold(participation)
    if item is None and _due(participation, "next_repeat", rates.repeat_every, done):
        item = _repeat(participation, rates.repeat_every)
    if item is None and (rates.retest_number or rates.retest_share):
        due, pool = _own_items_due(participation.annotator_id, participation.study_id, rates)
        item = _copy_of_one(participation, "retest", pool) if due else None
    return _hand_out(participation, item) if item else None


def _values(participation: Participation) -> dict:
    lease = timedelta(minutes=settings.LEASE_MINUTES)
    return {"me": participation.annotator_id, "study": participation.study_id, "lease": lease}


def _hand_out(participation: Participation, item: Item) -> UUID:
    # Two people's slots of one item must not take the same ordinal.
    Item.objects.select_for_update(no_key=True).get(pk=item.pk)
    return cast(tuple, sql.first(_MAKE, _values(participation) | {"item": item.pk}))[0]


def _fresh(participation: Participation, purpose: str) -> QuerySet[Item]:
    """The study's checks that this person has neither answered nor handed back, in their order."""
    of_annotator = {"item": OuterRef("pk"), "annotator": participation.annotator_id}
    items = active(participation.study_id, purpose).filter(
        ~Exists(Slot.objects.filter(**of_annotator)),
        ~Exists(Handback.objects.filter(**of_annotator)),
    )
    return items.order_by("position")


def active(study: Study | int, purpose: str) -> QuerySet[Item]:
    """The study's checks of one purpose that are handed out to everybody."""
    of = Item.objects.filter(batch__study=study, batch__purpose=purpose)
    return of.filter(batch__closed_at=None, retired_at=None)


def _gold(participation: Participation) -> Item | None:
    """One that is not made from an item that this person has judged."""
    source = Slot.objects.filter(item=OuterRef("repeats"), annotator=participation.annotator_id)
    left = list(_fresh(participation, Purpose.GOLD).filter(~Exists(source)))
    return _drawn(participation, "gold", len(left)).choice(left) if left else None


def _repeat(participation: Participation, gap: int) -> Item | None:
    """A copy of an item that this person judged at least ``gap`` judgments ago, and only once."""
    first = Judgment.objects.filter(
        annotator=participation.annotator_id,
        slot__study=participation.study_id,
        slot__status="done",
        revision=1,
    )
    work = first.order_by("-pk").values_list("slot__item", "slot__item__batch__purpose")
    repeated = set(_repeated(participation.annotator_id, participation.study_id))
    pool = [pk for pk, of in work[gap:] if of == Purpose.WORK and pk not in repeated]
    return _copy_of_one(participation, "repeat", pool) if pool else None


def _copy_of_one(participation: Participation, name: str, pool: list[UUID]) -> Item:
    """A copy, for the person, of one of the items in ``pool``, drawn by lot.

    By the copy's name a hidden repeat is told from an owner's retest.
    """
    drawn = _drawn(participation, name, len(pool)).choice(pool)
    old = Item.objects.select_related("batch").get(pk=drawn)
    prefix = HIDDEN_REPEAT if name == "repeat" else f"{name}-"
    batch = batch_of_copies(old.batch, Purpose.REPEAT)
    return copy(old, participation.annotator_id, batch, f"{prefix}{uuid4()}")


def _repeated(annotator: int, study: int) -> QuerySet:
    """The items that this person was given once more."""
    again = Item.objects.filter(study=study, made_for=annotator, batch__purpose=Purpose.REPEAT)
    return again.values_list("repeats", flat=True)


def retests_due(annotator: int, study: int) -> int:
    """How many own items this person is to judge once more now."""
    asking = Checks.objects.filter(Q(retest_number__gt=0) | Q(retest_share__gt=0))
    rates = asking.filter(study=study).first()
    return _own_items_due(annotator, study, rates)[0] if rates else 0


def _own_items_due(annotator: int, study: int, rates: "Rates | Checks") -> tuple[int, list[UUID]]:
    """How many own items the owner is to judge once more now, and those that it can be."""
    repeated = _repeated(annotator, study)
    first = Judgment.objects.filter(
        annotator=annotator,
        slot__study=study,
        slot__status=Slot.Status.DONE,
        revision=1,
        slot__item__batch__purpose=Purpose.WORK,
        slot__item__batch__task__config__owner_only=True,
    )
    eligible = first.filter(submitted_at__lte=Now() - timedelta(days=rates.retest_days))
    pool = (
        eligible.exclude(slot__item__in=repeated)
        .order_by("pk")
        .values_list("slot__item", flat=True)
    )
    wanted = rates.retest_number or math.ceil(rates.retest_share * first.count())
    # Hidden repeats are none of them.
    retested = repeated.exclude(external_id__startswith=HIDDEN_REPEAT)
    again = first.filter(slot__item__in=retested).count()
    return min(len(pool), max(0, wanted - again)), list(pool)


def batch_of_copies(like: Batch, purpose: str) -> Batch:
    """The study's open batch of copies of a task's items; made where there is none.

    Its ``size`` stays 0: nobody counts copies, and a number here would make claims wait.
    """
    same = {"study_id": like.study_id, "task_id": like.task_id, "purpose": purpose, "size": 0}
    return Batch.objects.filter(closed_at=None, **same).first() or Batch.objects.create(**same)


def copy(old: Item, person: int, batch: Batch, name: str = "") -> Item:
    """Store ``old`` once more, with the same numbers of its options, for one person alone.

    The caller holds the lock of the person's participation, or that of an import.
    """
    item = Item.objects.create(
        study_id=old.study_id,
        batch=batch,
        query_id=old.query_id,
        attribute_id=old.attribute_id,
        gold_id=old.gold_id,
        persona_version_id=old.persona_version_id,
        overlap=1,
        repeats=old,
        made_for_id=person,
        external_id=name or f"{batch.purpose}-{uuid4()}",
        expected=old.expected,
        explanation=old.explanation,
        retired_at=Now(),
    )
    ItemOption.objects.bulk_create(
        ItemOption(item=item, number=option.number, candidate_id=option.candidate_id)
        for option in old.options.all()
    )
    return item


def _due(participation: Participation, name: str, every: int, done: int) -> bool:
    """Whether the check of this name is due; then the place of the one after it is drawn."""
    place = getattr(participation, name)
    if not every or (place is not None and done < place):
        return False
    gap = _drawn(participation, name, done).randint((every + 1) // 2, every + every // 2)
    # The check itself is a judgment too.
    setattr(participation, name, done + gap + (place is not None))
    participation.save(update_fields=[name])
    return place is not None


def _drawn(participation: Participation, *parts: Any) -> random.Random:
    # With the secret, so that the rule alone does not give the places.
    return random.Random(f"{settings.SECRET_KEY}/{participation.pk}/{parts}")  # noqa: S311 - reproducible


def _qualified(participation: Participation, pass_mark: float) -> bool:
    """Whether the training was passed; whoever failed it just now is stopped."""
    if not pass_mark or participation.qualified_at:
        return True
    right, total = trained(participation)
    if not total:
        return True
    if right >= pass_mark * total - 1e-9:
        Participation.objects.filter(pk=participation.pk).update(qualified_at=Now())
        return True
    sentence = _(
        "You answered %(right)d of %(total)d training items as expected. That is less than this "
        "study asks for, so it gives you no items. Thank you for your time."
    )
    reason = sentence % {"right": right, "total": total}
    participation.stopped_at = timezone.now()
    Participation.objects.filter(pk=participation.pk).update(
        stopped_at=participation.stopped_at, stop_reason=reason
    )
    audit.record(
        None,
        "participation.unqualified",
        participation,
        right=right,
        total=total,
        pass_mark=pass_mark,
    )
    return False


def training_record(study: Study, annotator: User) -> tuple[int, int] | None:
    """What ``trained`` gives once this person's training in ``study`` is over; before it, None."""
    participation = Participation.objects.filter(study=study, annotator=annotator).first()
    if participation is None or _fresh(participation, Purpose.TRAINING).exists():
        return None
    waiting = Slot.objects.filter(study=study, reserved_for=annotator)
    waiting = waiting.filter(item__batch__purpose=Purpose.TRAINING)
    if waiting.filter(status__in=(Slot.Status.OPEN, Slot.Status.HELD)).exists():
        return None
    right, total = trained(participation)
    return (right, total) if total else None


def trained(participation: Participation) -> tuple[int, int]:
    """(answered as expected, answered or skipped) of the training since the last reset."""
    since = (
        {"claimed_at__gte": participation.training_since} if participation.training_since else {}
    )
    slots = Slot.objects.filter(
        study=participation.study_id, annotator=participation.annotator_id, **since
    )
    answered = outcomes(participation.study_id, Purpose.TRAINING, slot__in=slots)
    skipped = Handback.objects.filter(
        annotator=participation.annotator_id,
        cause=Handback.Cause.SKIPPED,
        item__study=participation.study_id,
        item__batch__purpose=Purpose.TRAINING,
    )
    if participation.training_since:
        skipped = skipped.filter(at__gte=participation.training_since)
    return sum(outcome.right for outcome in answered), len(answered) + skipped.count()


def outcomes(study: Study | int, purpose: str, **only: Any) -> list[Outcome]:
    """First answers to the study's checks of one purpose, in order of time.

    ``only`` narrows the judgments. A repeat is held against the person's first answer to the item.
    """
    labels = _labels(study, purpose, revision=1, **only)
    former = _former(study, labels) if purpose == Purpose.REPEAT else {}
    outcomes = []
    for judgment, label in labels:
        item = judgment.slot.item
        expected = former.get((judgment.annotator_id, item.repeats_id), item.expected)
        if expected is not None:
            right = agrees(item, label, expected)
            outcomes.append(Outcome(judgment.annotator_id, item, judgment, label, expected, right))
    return outcomes


def _labels(study: Study | int, purpose: str, **only: Any) -> list[tuple]:
    """(judgment, its label) of the study's judgments, in order of time."""
    # By name: PostgreSQL then begins with their items, which are few, and not with all judgments.
    batches = list(Batch.objects.filter(study=study, purpose=purpose).values_list("pk", flat=True))
    if not batches:
        return []
    rows = Judgment.objects.filter(slot__item__batch__in=batches, **only)
    rows = rows.select_related("slot__item__batch__task", "slot__item__repeats").order_by("pk")
    answers = answers_of({row.pk: row.slot.item.batch.task.kind for row in rows})
    return [(row, answers[row.pk].label) for row in rows]


def _former(study: Study | int, repeats: list[tuple]) -> dict:
    """{(annotator, item): label of the first answer} of the items that were shown again."""
    items = {judgment.slot.item.repeats_id for judgment, _label in repeats}
    people = {judgment.annotator_id for judgment, _label in repeats}
    rows = _labels(study, Purpose.WORK, revision=1, slot__item__in=items, annotator__in=people)
    return {(row.annotator_id, row.slot.item_id): label for row, label in rows}


def agrees(item: Item, label: Label, expected: Any) -> bool:
    """Whether a label counts as the expected one; ``item`` comes with its batch's task."""
    task = item.batch.task
    return kind_of(task.kind).agrees(label, expected, config_of_task(task))
