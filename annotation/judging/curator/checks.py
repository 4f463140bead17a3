"""Curators' side of training and gold items: how often checks come, which items they are made of,
and the pages of them.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import BooleanField, Case, ExpressionWrapper, F, FloatField, Q, QuerySet, When
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core import audit
from annotation.core.errors import Conflict, DomainError
from annotation.core.pages import done, page_of, show
from annotation.core.schema import form_of
from annotation.judging.batches.open import add_items, hold_back
from annotation.judging.kinds import config_of_task, form_fields, kind_of, label_words, read_label
from annotation.judging.kinds.kind import Label
from annotation.judging.models import (
    Adjudication,
    Batch,
    Checks,
    Item,
    ItemOption,
    MostVotes,
    Participation,
)
from annotation.judging.work import comments, hidden_checks
from annotation.studies.access import study_page, withdrawn_from
from annotation.studies.models import Study

EXPLANATION_LIMIT = 10_000
PURPOSES = (Batch.Purpose.TRAINING, Batch.Purpose.GOLD)
PAGE = 25
RatesForm = form_of(hidden_checks.Rates)


@transaction.atomic
def set_rates(study: Study, rates: hidden_checks.Rates, *, by: User) -> Checks:
    """Store how the study checks its annotators; hidden checks get new places for everybody."""
    fields = asdict(rates)
    stored, _made = Checks.objects.update_or_create(study=study, defaults=fields)
    Participation.objects.filter(study=study).update(next_gold=None, next_repeat=None)
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
    if ruling := item.adjudications.order_by("-pk").first():
        return ruling.label
    best = votes(item)
    is_tied = len(best) > 1 and best[0][1] == best[1][1]
    return best[0][0] if best and not is_tied else None


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
    made = Item.objects.filter(
        batch=add_items(study, source.batch.task, [row], purpose=purpose, by=by)
    )
    made.update(repeats=source, persona_version=source.persona_version_id)
    return made.get()


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
    hold_back(Item.objects.filter(pk=item.pk))
    audit.record(by, "check.retire", item)


def _explanation(text: str, purpose: str) -> str:
    if purpose not in PURPOSES:
        raise DomainError(_("A check is a training or a gold item."))
    if purpose == Batch.Purpose.GOLD and not text.strip():
        return ""
    empty = _("Explain the expected answer: whoever trains reads it.")
    return comments.checked(text, EXPLANATION_LIMIT, empty)


# The pages


@study_page(policies.check.may_change, "GET", "POST")
def overview(request: UserRequest, study: Study) -> HttpResponse:
    """Rates, the checks there are, and the items that more can be made of."""
    rates = Checks.objects.filter(study=study).first() or Checks()
    form = RatesForm(request.POST or None, initial=vars(rates))
    if request.method == "POST" and form.is_valid():
        set_rates(study, form.schema, by=request.user)
        return done(request, _("Saved."), "checks", study.slug)
    search = request.GET.get("q", "").replace("\x00", "")[:200]
    items = ready(study)
    if search:
        items = items.filter(external_id__icontains=search)
    context = {
        "study": study,
        "form": form,
        "groups": [(purpose, _rows(study, purpose)) for purpose in PURPOSES],
        "search": search,
        "page": page_of(items, PAGE, request.GET.get("page")),
    }
    return show(request, "judging/checks.html", context)


@study_page(policies.check.may_change, "GET", "POST")
def make_page(request: UserRequest, study: Study, pk: UUID) -> HttpResponse:
    source = get_object_or_404(ready(study), pk=pk)
    purpose = request.POST.get("purpose", "training")

    def store(expected: Label, text: str) -> None:
        make(study, source, request.POST.get("purpose", ""), expected, text, by=request.user)

    return _stored_or_form(
        request,
        study,
        source,
        store,
        _("The check is made."),
        label=truth(source),
        votes=[(label_words(source, label), n) for label, n in votes(source)],
        purposes=PURPOSES,
        purpose=purpose,
    )


@study_page(policies.check.may_change, "GET", "POST")
def edit_page(request: UserRequest, study: Study, pk: UUID) -> HttpResponse:
    item = get_object_or_404(_checks_of(study), pk=pk)

    def store(expected: Label, text: str) -> None:
        edit(item, expected, text, by=request.user)

    return _stored_or_form(
        request, study, item, store, _("Saved."), label=item.expected, check=item
    )


@study_page(policies.check.may_change, "POST")
def retire_page(request: UserRequest, study: Study, pk: UUID) -> HttpResponse:
    retire(get_object_or_404(_checks_of(study), pk=pk), by=request.user)
    return done(request, _("The check is handed out to nobody else."), "checks", study.slug)


def _checks_of(study: Study) -> QuerySet[Item]:
    """Training and gold items, without the copies for one person."""
    items = Item.objects.originals().filter(study=study, batch__purpose__in=PURPOSES)
    return items.select_related("batch__task", "query", "attribute").prefetch_related("options")


def _stored_or_form(
    request: UserRequest,
    study: Study,
    item: Item,
    store: Callable[[Label, str], None],
    sentence: str,
    *,
    label: Label | None,
    **context: Any,
) -> HttpResponse:
    """The form of what is expected of ``item``; a POST does ``store`` and says ``sentence``."""
    refusal = None
    if request.method == "POST":
        try:
            store(read_label(item, request.POST), request.POST.get("explanation", ""))
        except DomainError as error:
            refusal = error
        else:
            return done(request, sentence, "checks", study.slug)
    context |= {
        "study": study,
        "item": item,
        "fields": form_fields(item, label, request.POST if refusal else None),
        "explanation": request.POST.get("explanation", item.explanation),
        "options": item.options.select_related("candidate").order_by("number"),
        "refusal": refusal,
    }
    return show(request, "judging/checks_form.html", context)


def _rows(study: Study, purpose: str) -> list[dict]:
    """Each check with what is expected and how those who did not withdraw answered it."""
    right, answered = Counter(), Counter()
    withdrawn = withdrawn_from(study)
    for outcome in hidden_checks.outcomes(study, purpose):
        if outcome.annotator in withdrawn:
            continue
        # A second training counts for the item that it copies.
        item = outcome.item.repeats_id if outcome.item.made_for_id else outcome.item.pk
        answered[item] += 1
        right[item] += outcome.right
    # Checks are few: by the ids of their batches no look is taken at the study's work.
    batches = list(study.batches.filter(purpose=purpose).values_list("pk", flat=True))
    return [
        {
            "item": item,
            "expected": label_words(item, item.expected),
            "answered": answered[item.pk],
            "share": right[item.pk] / answered[item.pk] if answered[item.pk] else None,
            "over": item.retired_at or item.batch.closed_at,
        }
        for item in _checks_of(study).filter(batch__in=batches).order_by("position")
    ]
