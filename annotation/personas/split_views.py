"""The page that divides personas into those of the benchmark and those that train models."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core import refusals
from annotation.personas import splitting
from annotation.personas.forms import SplitForm
from annotation.personas.models import Persona
from annotation.studies.access import study_for

# Values of a dimension that are shown.
ROWS = 12
# Cosine from which two personas on different sides are mentioned.
ALIKE = 0.9


@require_http_methods(["GET", "HEAD", "POST"])
def split(request: UserRequest, slug: str) -> HttpResponse:
    """A proposal of who is on which side; POST makes it so."""
    study = study_for(request.user, slug, policies.persona.may_change)
    data = request.POST if request.method == "POST" else request.GET or None
    form = SplitForm(data)
    proposal = None
    if form.is_bound and form.is_valid():
        with refusals.in_form(form):
            if request.method == "POST":
                counts = splitting.make(study, **form.cleaned_data, by=request.user)
                words = _("%(benchmark)d personas for the benchmark, %(training)d for training.")
                messages.success(request, words % counts)
                return redirect("persona-split", slug)
            proposal = splitting.propose(study, **form.cleaned_data)
    personas = study.personas.filter(dropped_at=None)
    context = {
        "study": study,
        "form": form,
        "proposal": proposal,
        "dimensions": proposal and [(d, rows[:ROWS]) for d, rows in proposal.by_dimension()],
        "apart": proposal and proposal.apart(ALIKE),
        "sides": [
            (words, personas.filter(split=side).count())
            for side, words in [*Persona.Split.choices, ("", _("no side yet"))]
        ],
    }
    status = 400 if request.method == "POST" else 200
    return render(request, "personas/split.html", context, status=status)
