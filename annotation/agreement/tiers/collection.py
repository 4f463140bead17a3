"""How many votes items get: none more that cannot reach a tier, more on borderline ones.

An item stops when all its missing votes for its leader would still leave it below ``hard`` (or
``borderline``, where those are wanted for the fill or a top-up): on failure, never on success, so
the tiers that are released are exactly those of the full panel. Borderline items are the reserve,
about which more people may be asked.
"""

from collections import Counter
from dataclasses import replace

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement.models import EarlyStop, StoppedItem, TopUp
from annotation.agreement.tiers.rules import DEFAULT, STOPS, Judged, TierRule, is_closed, may_stop
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.records import chunks
from annotation.judging.batches.open import ask_for_more
from annotation.judging.models import Batch, Item, ItemQuerySet, Slot
from annotation.studies.models import Study
from annotation.votes import counting
from annotation.votes.counting import AUDIT_TASK

CHUNK = 2_000


def rules_of(study: Study) -> dict[str, TierRule]:
    """{task: its tier rule} of the tasks where items stop early, or once did."""
    stops = EarlyStop.objects.filter(study=study).values_list("task", "below")
    return {task: replace(DEFAULT, stop_below=below) for task, below in stops}


@transaction.atomic
def choose_stop(study: Study, task: str, below: str, *, by: User | None = None) -> None:
    """Stop items of ``task`` below "hard" or "borderline" from now on; "" stops no more."""
    if below and below not in STOPS:
        raise DomainError(_("Stop below hard or below borderline, or not at all."), code="stop")
    fields = {"below": below, "active": True} if below else {"active": False}
    if below:
        EarlyStop.objects.update_or_create(study=study, task=task, defaults=fields)
    else:
        EarlyStop.objects.filter(study=study, task=task).update(**fields)
    audit.record(by, "tiers.early_stop", study, task=task, below=below)


def stop_state(study: Study, task: str) -> dict:
    """``{"below", "items", "saved"}``: what is chosen, items stopped, votes saved so far."""
    chosen = EarlyStop.objects.filter(study=study, task=task, active=True)
    below = chosen.values_list("below", flat=True).first()
    stopped = StoppedItem.objects.filter(item__study=study, item__batch__task__name=task)
    totals = stopped.aggregate(items=Count("pk"), saved=Sum("saved", default=0))
    return {"below": below or "", **totals}


@transaction.atomic
def stop(study: Study, task: str, judged: list[Judged], options: int, rule: TierRule) -> int:
    """Ask nobody more about those of ``judged`` that may stop; how many.

    Held slots stay with their holders. Run again it stops the same items.
    """
    chosen = EarlyStop.objects.filter(study=study, task=task, active=True).exists()
    if not chosen or study.status != Study.Status.OPEN:
        return 0
    names = [item.task for item in judged if _may_stop(item, options, rule)]
    return sum(_stop_some(study, task, some) for some in chunks(names, CHUNK))


def _may_stop(item: Judged, options: int, rule: TierRule) -> bool:
    counts = list(item.votes.values())
    return 2 <= item.n < rule.panel and may_stop(counts, options, rule)


def _stop_some(study: Study, task: str, names: list[str]) -> int:
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    work = {"batch__task__name": task, "batch__purpose": Batch.Purpose.WORK}
    rows = Item.objects.filter(study=study, external_id__in=names, stopped=None, **work)
    items = list(rows.select_for_update(of=("self",)).order_by("pk"))
    slots = Slot.objects.filter(item__in=items)
    slots.filter(status=Slot.Status.OPEN).update(status=Slot.Status.CLOSED)
    left = Q(status__in=(Slot.Status.DONE, Slot.Status.HELD))
    counted = slots.values("item").order_by().annotate(n=Count("pk", left))
    counts = dict(counted.values_list("item", "n"))
    made = []
    for item in items:
        saved = item.overlap - counts[item.pk]
        # Not lower than one: an item asks for at least one judgment.
        item.overlap = max(1, counts[item.pk])
        if saved > 0:
            made.append(StoppedItem(item=item, saved=saved))
    Item.objects.bulk_update(items, ["overlap"], batch_size=1000)
    StoppedItem.objects.bulk_create(made)
    return len(made)


def collecting(study: Study, task: str, closed_batches: list[int] | None = None) -> frozenset[str]:
    """The task's items, by their own ids, that still wait for votes (``tiers.is_closed``).

    ``closed_batches`` as of ``counting``, read where it is None.
    """
    closed = set(counting.closed_batches(study) if closed_batches is None else closed_batches)
    rows = study.items.work().filter(batch__task__name=task)
    return frozenset(
        name
        for name, done, overlap, batch in rows.values_list(
            "external_id", "done", "overlap", "batch_id"
        ).iterator(chunk_size=20_000)
        if not is_closed(done, overlap, batch in closed)
    )


def topped(study: Study, task: str) -> frozenset[str]:
    """The task's items that were topped up, by their own ids."""
    top_ups = TopUp.objects.filter(item__study=study, item__batch__task__name=task)
    return frozenset(top_ups.values_list("item__external_id", flat=True))


def counts(study: Study) -> Counter:
    """How many items of each task were topped up; it never falls."""
    names = TopUp.objects.filter(item__study=study).values_list("item__batch__task__name")
    return Counter(dict(names.annotate(n=Count("pk")).order_by()))


def reserve(study: Study, task: str) -> ItemQuerySet:
    """Borderline items, by the tiers as last computed, that can be topped up and were not yet."""
    if task == AUDIT_TASK or study.status != Study.Status.OPEN:
        return Item.objects.none()
    work = {"batch__purpose": Batch.Purpose.WORK, "batch__closed_at": None}
    items = Item.objects.filter(study=study, batch__task__name=task, **work)
    return items.filter(tier__tier="borderline", top_up=None, done__gte=DEFAULT.panel)


@transaction.atomic
def top_up(study: Study, task: str, by: User | None = None) -> int:
    """Ask more people about every item of the ``reserve``; how many items that are.

    Each gets slots up to the rule's ``top_up`` votes, handed out before new items. Raises
    DomainError where there is none.
    """
    # Two requests at once would add the slots twice; openings take the same lock.
    Study.objects.select_for_update().get(pk=study.pk)
    items = list(reserve(study, task).select_for_update(of=("self",)).order_by("pk"))
    if not items:
        raise DomainError(_("No borderline item waits to be topped up."), code="no_reserve")
    slots = ask_for_more(items, DEFAULT.top_up)
    TopUp.objects.bulk_create([TopUp(item=item) for item in items], batch_size=5000)
    audit.record(by, "tiers.top_up", study, task=task, items=len(items), slots=slots)
    return len(items)
