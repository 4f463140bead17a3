"""The reserve of the tier rule: borderline items, about which more people may be asked."""

from collections import Counter

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.agreement.models import TopUp
from annotation.agreement.tiers.rules import DEFAULT, is_closed
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.judging.batches.open import ask_for_more
from annotation.judging.models import Batch, Item, ItemQuerySet
from annotation.studies.models import Study
from annotation.votes import counting
from annotation.votes.counting import AUDIT_TASK


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
