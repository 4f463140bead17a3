"""Take a person's judgments out of a study's count, and let others judge in their place."""

from django.db import transaction

from annotation.accounts.models import User
from annotation.core import audit
from annotation.judging.kinds import answers_of, config_of_task, kind_of
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
    """Take the standing judgments of ``gone`` out of their items' counts."""
    pks = [slot.item_id for slot in gone]
    locked = Item.objects.filter(pk__in=pks).select_related("batch__task").order_by("pk")
    items = {item.pk: item for item in locked.select_for_update(of=("self",), no_key=True)}
    judged = dict(
        Judgment.objects.standing().filter(slot__in=gone).values_list("pk", "slot__item_id")
    )
    tasks = {pk: items[item].batch.task for pk, item in judged.items()}
    answers = answers_of({pk: task.kind for pk, task in tasks.items()})
    for pk, answer in answers.items():
        item, task = items[judged[pk]], tasks[pk]
        label = kind_of(task.kind).counted(answer, config_of_task(task))
        if label:
            item.counts[label] -= 1
    for item in items.values():
        item.done -= 1
        item.counts = {label: n for label, n in item.counts.items() if n}
    Item.objects.bulk_update(items.values(), ["done", "counts"], batch_size=1_000)


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
