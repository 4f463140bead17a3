"""Round 2 of the curation of personas: of whom they consist, and who is much like another."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import review
from annotation.core import charts, downloads, refusals
from annotation.core.errors import DomainError
from annotation.personas import board as personas
from annotation.personas.balance import DIMENSIONS, Tally, tally
from annotation.personas.forms import PairForm
from annotation.studies.access import study_for

# Bars of a chart, rows of a table and pairs of a page.
BARS, ROWS, PAIRS = 12, 50, 10


@require_safe
def board(request: UserRequest, slug: str) -> HttpResponse:
    """The personas by dimension, and pairs of them that are alike."""
    study = study_for(request.user, slug, policies.persona.may_change)
    people = personas.versions(study)
    pairs = personas.undecided(study, people)
    similarity = review.similarity_of(request.GET.get("similar"), study)
    shown = [pair for pair in pairs if pair.similarity >= similarity]
    context = {
        "study": study,
        "people": len(people),
        "tallies": [_shown(values) for values in personas.tallies(people)],
        "preview": personas.preview(pairs),
        "similar": similarity,
        "page": Paginator(shown, PAIRS).get_page(request.GET.get("page")),
        "decided": study.pair_decisions.filter(decided_by=request.user).exists(),
        "funnel": review.persona_funnel(study),
    }
    return render(request, "candidates/board.html", context)


def _shown(values: Tally) -> dict:
    return {
        "tally": values,
        "svg": _chart(values),
        "rows": [
            (value, count, 100 * count / values.personas, value in values.over)
            for value, count in values.rows[:ROWS]
        ],
    }


def _chart(values: Tally) -> str:
    """Bars of the most frequent values; "" where nobody states one."""
    if not values.rows:
        return ""
    label = str(values.dimension.label)
    rows = [(value, float(count)) for value, count in values.rows]
    if values.dimension.name != "age":
        rows = rows[:BARS]
    desc = _("How many personas have each value; ▲ marks what is over-represented.")
    key = f"board-{values.dimension.name}"
    axes = (_("Personas"), label)
    return charts.bars(key, label, desc, rows, marked=values.over, axes=axes)


@require_safe
def figure(request: UserRequest, slug: str, name: str, ending: str) -> HttpResponse:
    """A dimension as SVG or PNG, its whole table as CSV."""
    study = study_for(request.user, slug, policies.persona.may_change)
    if name not in DIMENSIONS or ending not in downloads.CHART_TYPES:
        raise Http404
    profiles = [version.profile for version in personas.versions(study)]
    values, file = tally(DIMENSIONS[name], profiles), f"{slug}-personas-{name}.{ending}"
    if ending == "csv":
        rows = [(value, count, value in values.over) for value, count in values.rows]
        return downloads.table(file, [("value", "personas", "over_represented"), *rows])
    if not (drawn := _chart(values)):
        raise Http404
    caption = _("%(what)s of %(n)d personas. ▲: over-represented.") % {
        "what": values.dimension.label,
        "n": values.personas,
    }
    return downloads.picture(file, drawn, f"{caption} {study.title}.")


@require_POST
def decide(request: UserRequest, slug: str) -> HttpResponse:
    """Keep both personas of a pair or drop one of them; or take the last decision back."""
    study = study_for(request.user, slug, policies.persona.may_change)
    with refusals.as_message(request):
        if request.POST.get("do") == "undo":
            personas.undo(study, by=request.user)
            messages.success(request, _("The last decision is taken back."))
        else:
            form = PairForm(request.POST)
            if not form.is_valid():
                raise DomainError(_("Choose what becomes of the pair."), code="choice")
            decision = personas.decide(study, **form.cleaned_data, by=request.user)
            words = _("%(name)s is dropped.") if decision.dropped else _("Both stay.")
            messages.success(request, words % {"name": decision.dropped})
    similar = review.similarity_of(request.POST.get("similar"), study)
    return redirect(f"{request.path.removesuffix('pairs/')}?similar={similar:.2f}#pairs")
