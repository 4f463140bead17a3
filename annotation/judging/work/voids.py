"""Take a person's judgments out of a study's count, and let others judge in their place."""

from collections import defaultdict
from typing import cast

from django.db import transaction
from django.db.models import F

from annotation.accounts.models import User
from annotation.core import audit
from annotation.judging.kinds import answers_of, codes
from annotation.judging.models import Batch, Handback, Item, Judgment, Slot
from annotation.judging.work import queue
from annotation.studies.models import Study


@transaction.atomic
def void(study: Study, annotator: User, *, cause: str, by: User | None = None) -> int:
    """Void what ``annotator`` has judged of the study's work; how many judgments that were.

    The rows stay. Items count without them, and for each a new slot of the same ordinal is open to
    others, before new ones (closed where its batch is closed, or where only this person may judge
    the item). What the person holds is handed back. Checks stay as they are: they count nowhere.
    ``cause`` is a sentence for the audit log. Doing it twice does nothing the second time.
    """
    # Voids and imports of votes take turns: both touch many items at once.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    desk = queue.lock_desk(study, annotator)
    # Locks in the order of a submit and of the reaper: slots, items, batches.
    of_annotator = Slot.objects.select_for_update().filter(study=study, annotator=annotator)
    slots = list(of_annotator.filter(status__in=["held", "done"]).order_by("item_id"))
    purposes = dict(Item.objects.filter(slots__in=slots).values_list("pk", "batch__purpose"))
    held = [slot for slot in slots if slot.status == Slot.Status.HELD]
    gone = [
        slot
        for slot in slots
        if slot.status == Slot.Status.DONE and purposes[slot.item_id] == Batch.Purpose.WORK
    ]
    if gone:
        _uncount(gone)
        Slot.objects.filter(pk__in=[slot.pk for slot in gone]).update(status=Slot.Status.VOID)
        _open_anew(study, gone, annotator)
    if held:
        queue.reopen(held, Handback.Cause.RELEASED, cause)
    if slots:
        audit.record(by, "judgments.void", desk, study=study.slug, cause=cause, voided=len(gone))
    return len(gone)


def _uncount(gone: list[Slot]) -> None:
    """Take the standing judgments of ``gone`` out of their items' counters."""
    items = {slot.pk: slot.item_id for slot in gone}
    locked = Item.objects.select_for_update(no_key=True).filter(pk__in=items.values())
    list(locked.order_by("pk").values_list("pk"))
    by_counter = defaultdict(list)
    # The other kinds have no counter apart from `done`.
    counted = Judgment.objects.standing().filter(
        slot__in=items, slot__item__batch__task__kind__in=codes(COUNTED=True)
    )
    rows = {
        pk: (slot, kind)
        for pk, slot, kind in counted.values_list("pk", "slot", "slot__item__batch__task__kind")
    }
    for pk, answer in answers_of({pk: kind for pk, (_slot, kind) in rows.items()}).items():
        by_counter[Item.COUNTERS[cast(str, answer.label)]].append(items[rows[pk][0]])
    Item.objects.filter(pk__in=items.values()).update(done=F("done") - 1)
    for counter, ids in by_counter.items():
        Item.objects.filter(pk__in=ids).update(**{counter: F(counter) - 1})


def _open_anew(study: Study, gone: list[Slot], annotator: User) -> None:
    # Closing a batch takes the same lock: the new slots come before it or after it.
    batches = Batch.objects.select_for_update(no_key=True).filter(study=study).order_by("pk")
    closed = {batch.pk for batch in batches if batch.closed_at}
    over = set(Item.objects.filter(batch__in=closed, slots__in=gone).values_list("pk", flat=True))
    Slot.objects.bulk_create(
        Slot(
            study_id=slot.study_id,
            item_id=slot.item_id,
            ordinal=slot.ordinal,
            position=slot.position,
            reserved_for_id=slot.reserved_for_id,
            withheld_from_id=slot.withheld_from_id,
            status=(
                Slot.Status.CLOSED
                if slot.item_id in over or slot.reserved_for_id == annotator.pk
                else Slot.Status.OPEN
            ),
            returned=True,
        )
        for slot in gone
    )
