"""Curators' side of checks: how often they come, and which items they are made of."""

from collections import Counter
from dataclasses import asdict

from django.db import transaction
from django.db.models import (
    BooleanField,
    Case,
    ExpressionWrapper,
    F,
    FloatField,
    Q,
    QuerySet,
    When,
)
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.judging.batches.open import add_items
from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.kinds.kind import Label
from annotation.judging.models import (
    Adjudication,
    Batch,
    Checks,
    Desk,
    Item,
    ItemOption,
    MostVotes,
    Slot,
)
from annotation.judging.work import comments, hidden_checks
from annotation.studies.models import Study

EXPLANATION_LIMIT = 10_000
PURPOSES = (Batch.Purpose.TRAINING, Batch.Purpose.GOLD)


@transaction.atomic
def set_rates(study: Study, rates: hidden_checks.Rates, *, by: User) -> Checks:
    """Store how the study checks its annotators; hidden checks get new places for everybody."""
    fields = asdict(rates)
    stored, _made = Checks.objects.update_or_create(study=study, defaults=fields)
    Desk.objects.filter(study=study).update(next_gold=None, next_repeat=None)
    audit.record(by, "checks.set", stored, study=study.slug, **fields)
    return stored


def ready(study: Study) -> QuerySet[Item]:
    """Items of the study's work that a check can be made of: finished ones, and adjudicated ones.

    With ``share``, that of the most frequent label (None where none is counted); adjudicated ones
    first, then the clearest. An owner's items are nobody else's.
    """
    # Not EXISTS, which PostgreSQL would look up for each item: rulings are few, and hashed once.
    ruled = Q(pk__in=Adjudication.objects.filter(item__study=study).values("item"))
    return (
        Item.objects.work()
        .shared()
        .filter(finished() | ruled, study=study)
        .annotate(ruled=ExpressionWrapper(ruled, BooleanField()), share=share())
        .select_related("batch__task", "query", "attribute", "gold", "persona_version__persona")
        .order_by("-ruled", F("share").desc(nulls_last=True), "position")
    )


def share() -> Case:
    """The share of the most frequent label; null of items on which no label is counted."""
    return Case(When(done__gt=0, then=Cast(MostVotes("counts"), FloatField()) / F("done")))


def finished() -> Q:
    """Items with judgments that get no more of them."""
    over = Q(done__gte=F("overlap")) | ~Q(batch__closed_at=None) | Q(study__status="closed")
    return Q(done__gt=0) & over


def truth(item: Item) -> Label | None:
    """The right label: the last ruling, or else that of most judgments.

    None where no label has the most; ``item`` comes with its batch's task.
    """
    ruling = item.adjudications.order_by("-pk").first()
    if ruling:
        return ruling.label
    best = votes(item)
    if not best or (len(best) > 1 and best[0][1] == best[1][1]):
        return None
    return best[0][0]


def votes(item: Item) -> list[tuple[Label, int]]:
    """(label, votes) of what is counted on the item, the most frequent first."""
    task = item.batch.task
    kind, config = kind_of(task.kind), config_of_task(task)
    counts = Counter(item.counts).most_common()
    return [(kind.label_of_votes(label, config), n) for label, n in counts if n]


@transaction.atomic
def make(
    study: Study, source: Item, purpose: str, expected: Label, explanation: str, *, by: User
) -> Item:
    """Make a training or gold item that shows what ``source`` shows.

    ``expected`` is a label of its kind; training needs an ``explanation``. Raises DomainError with
    a sentence where the item or the text does not do, Conflict where it is such a check already.
    """
    # Makers of one study take turns: items are numbered.
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    explanation = _explanation(explanation, purpose)
    if not ready(study).filter(pk=source.pk).exists():
        raise DomainError(_("A check is made of a finished or an adjudicated item."))
    if hidden_checks.active(study, purpose).filter(repeats=source).exists():
        raise Conflict(_("There is such a check of this item already."))
    row = {
        "external_id": f"{purpose}-{source.pk}-{source.repetitions.count() + 1}",
        "overlap": 1,
        "query": source.query,
        "attribute": source.attribute,
        "gold": source.gold,
        "expected": expected,
        "explanation": explanation,
        "candidates": ItemOption.objects.filter(item=source)
        .order_by("number")
        .values_list("candidate", flat=True),
    }
    batch = add_items(study, source.batch.task, [row], purpose=purpose, by=by)
    Item.objects.filter(batch=batch).update(
        repeats=source, persona_version=source.persona_version_id
    )
    return Item.objects.get(batch=batch)


@transaction.atomic
def edit(item: Item, expected: Label, explanation: str, *, by: User) -> None:
    """Correct the expected answer and the explanation; the audit log has the old ones."""
    explanation = _explanation(explanation, item.batch.purpose)
    old = {"expected": item.expected, "explanation": item.explanation}
    Item.objects.filter(pk=item.pk).update(expected=expected, explanation=explanation)
    audit.record(by, "check.edit", item, old=old, expected=expected, explanation=explanation)


@transaction.atomic
def retire(item: Item, *, by: User) -> None:
    """Hand the check out to nobody else; the answers to it stay."""
    Item.objects.filter(pk=item.pk, retired_at=None).update(retired_at=timezone.now())
    waiting = Slot.objects.filter(item=item, status=Slot.Status.OPEN)
    waiting.update(status=Slot.Status.CLOSED)
    audit.record(by, "check.retire", item)


def _explanation(text: str, purpose: str) -> str:
    if purpose not in PURPOSES:
        raise DomainError(_("A check is a training or a gold item."))
    if purpose == Batch.Purpose.GOLD and not text.strip():
        return ""
    empty = _("Explain the expected answer: whoever trains reads it.")
    return comments.checked(text, EXPLANATION_LIMIT, empty)
