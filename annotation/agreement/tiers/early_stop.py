"""Items that can no longer reach a tier get no more votes: stopping on failure, never on success.

An item stops when all its missing votes for its leader would still leave it below ``hard`` (or
``borderline``, where those are wanted for the fill or a top-up), so the tiers that are released are
exactly those of the full panel.
"""

from dataclasses import replace

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement.models import EarlyStop, StoppedItem
from annotation.agreement.tiers.rules import DEFAULT, STOPS, Judged, TierRule, may_stop
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.rows import chunks
from annotation.judging.models import Batch, Item, Slot
from annotation.studies.models import Study

CHUNK = 2_000


def rules_of(study: Study) -> dict[str, TierRule]:
    """{task: its tier rule} of the tasks where items stop early, or once did."""
    stops = EarlyStop.objects.filter(study=study).values_list("task", "below")
    return {task: replace(DEFAULT, stop_below=below) for task, below in stops}


@transaction.atomic
def choose(study: Study, task: str, below: str, *, by: User | None = None) -> None:
    """Stop items of ``task`` below "hard" or "borderline" from now on; "" stops no more."""
    if below and below not in STOPS:
        raise DomainError(_("Stop below hard or below borderline, or not at all."), code="stop")
    fields = {"below": below, "active": True} if below else {"active": False}
    if below:
        EarlyStop.objects.update_or_create(study=study, task=task, defaults=fields)
    else:
        EarlyStop.objects.filter(study=study, task=task).update(**fields)
    audit.record(by, "tiers.early_stop", study, task=task, below=below)


def state(study: Study, task: str) -> dict:
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
