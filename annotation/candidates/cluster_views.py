"""The page that shows what thresholds make of extracted statements, and makes it."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import attributes
from annotation.candidates.forms import ThresholdsForm
from annotation.core import refusals
from annotation.studies.access import study_for


@require_http_methods(["GET", "HEAD", "POST"])
def clusters(request: UserRequest, slug: str) -> HttpResponse:
    """A preview of the thresholds; POST makes the attributes."""
    study = study_for(request.user, slug, policies.generation.may_run)
    data = request.POST if request.method == "POST" else request.GET or None
    form = ThresholdsForm(data)
    valid = form.is_bound and form.is_valid()
    if request.method == "POST" and valid:
        with refusals.in_form(form):
            counts = attributes.make(study, form.thresholds(), by=request.user)
            messages.success(request, _made(counts))
            return redirect("tasks", slug)
    thresholds = form.thresholds() if valid else attributes.Thresholds()
    context = {"study": study, "form": form, "now": thresholds}
    context |= attributes.preview(study, thresholds)
    status = 400 if request.method == "POST" else 200
    return render(request, "candidates/clusters.html", context, status=status)


def _made(counts: dict) -> str:
    sentence = _("%(statements)d statements make %(attributes)d attributes of %(people)d people.")
    if counts["left"]:
        more = _("%(left)d people are left as they are: their attributes are judged already.")
        sentence = f"{sentence} {more}"
    return sentence % counts
