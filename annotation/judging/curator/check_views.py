"""The curators' pages of training, gold items and repeats."""

from collections import Counter
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core.errors import DomainError
from annotation.core.pages import page_of
from annotation.core.schema import form_of
from annotation.judging.curator import checks
from annotation.judging.kinds import form_fields, label_words, read_label
from annotation.judging.kinds.kind import Label
from annotation.judging.models import Checks, Item
from annotation.judging.work import hidden_checks
from annotation.studies.access import study_for
from annotation.studies.models import Study

PAGE = 25


RatesForm = form_of(hidden_checks.Rates)


@require_http_methods(["GET", "POST"])
def overview(request: UserRequest, slug: str) -> HttpResponse:
    """Rates, the checks there are, and the items that more can be made of."""
    study = study_for(request.user, slug, policies.check.may_change)
    rates = Checks.objects.filter(study=study).first() or Checks()
    form = RatesForm(request.POST or None, initial=vars(rates))
    if request.method == "POST" and form.is_valid():
        checks.set_rates(study, form.schema, by=request.user)
        messages.success(request, _("Saved."))
        return redirect("checks", slug)
    search = request.GET.get("q", "").replace("\x00", "")[:200]
    items = checks.ready(study)
    if search:
        items = items.filter(external_id__icontains=search)
    context = {
        "study": study,
        "form": form,
        "groups": [(purpose, _rows(study, purpose)) for purpose in checks.PURPOSES],
        "search": search,
        "page": page_of(items, PAGE, request.GET.get("page")),
    }
    return render(request, "judging/checks.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def make(request: UserRequest, slug: str, pk: UUID) -> HttpResponse:
    """Make a check of one of the study's items."""
    study = study_for(request.user, slug, policies.check.may_change)
    source = get_object_or_404(checks.ready(study), pk=pk)
    context = {"study": study, "item": source, "purposes": checks.PURPOSES}
    context |= {
        "votes": [(label_words(source, label), n) for label, n in checks.votes(source)],
        "purpose": request.POST.get("purpose", "training"),
    }
    if request.method == "POST":
        try:
            expected = read_label(source, request.POST)
            text = request.POST.get("explanation", "")
            purpose = request.POST.get("purpose", "")
            checks.make(study, source, purpose, expected, text, by=request.user)
        except DomainError as refusal:
            return _form(request, context, refusal, label=None)
        messages.success(request, _("The check is made."))
        return redirect("checks", slug)
    return _form(request, context, None, label=checks.truth(source))


@require_http_methods(["GET", "POST"])
def change(request: UserRequest, slug: str, pk: UUID) -> HttpResponse:
    study = study_for(request.user, slug, policies.check.may_change)
    item = get_object_or_404(_of(study), pk=pk)
    context = {"study": study, "item": item, "check": item}
    if request.method == "POST":
        try:
            expected = read_label(item, request.POST)
            text = request.POST.get("explanation", "")
            checks.edit(item, expected, text, by=request.user)
        except DomainError as refusal:
            return _form(request, context, refusal, label=None)
        messages.success(request, _("Saved."))
        return redirect("checks", slug)
    return _form(request, context, None, label=item.expected, text=item.explanation)


@require_POST
def retire(request: UserRequest, slug: str, pk: UUID) -> HttpResponse:
    study = study_for(request.user, slug, policies.check.may_change)
    checks.retire(get_object_or_404(_of(study), pk=pk), by=request.user)
    messages.success(request, _("The check is handed out to nobody else."))
    return redirect("checks", slug)


def _of(study: Study) -> QuerySet[Item]:
    """Training and gold items, without the copies for one person."""
    items = Item.objects.originals().filter(study=study, batch__purpose__in=checks.PURPOSES)
    return items.select_related("batch__task", "query", "attribute").prefetch_related("options")


def _form(
    request: UserRequest,
    context: dict,
    refusal: DomainError | None,
    *,
    label: Label | None,
    text: str = "",
) -> HttpResponse:
    item = context["item"]
    context |= {
        "fields": form_fields(item, label, request.POST if refusal else None),
        "typed": request.POST,
        "explanation": request.POST.get("explanation", text),
        "options": item.options.select_related("candidate").order_by("number"),
        "refusal": refusal,
    }
    status = refusal.status if refusal else 200
    return render(request, "judging/checks_form.html", context, status=status)


def _rows(study: Study, purpose: str) -> list[dict]:
    """Each check with what is expected and how it was answered."""
    right, answered = Counter(), Counter()
    for outcome in hidden_checks.outcomes(study, purpose):
        # A second training counts for the item that it copies.
        item = outcome.item.repeats_id if outcome.item.made_for_id else outcome.item.pk
        answered[item] += 1
        right[item] += outcome.right
    # Checks are few: by the ids of their batches no look is taken at the study's work.
    batches = list(study.batches.filter(purpose=purpose).values_list("pk", flat=True))
    items = _of(study).filter(batch__in=batches).order_by("position")
    return [
        {
            "item": item,
            "expected": label_words(item, item.expected),
            "answered": answered[item.pk],
            "share": right[item.pk] / answered[item.pk] if answered[item.pk] else None,
            "over": item.retired_at or item.batch.closed_at,
        }
        for item in items
    ]
