"""The page on which a trained verifier decides on extracted statements."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import verifier
from annotation.candidates.forms import VerifierForm
from annotation.core import refusals
from annotation.studies.access import study_for


@require_http_methods(["GET", "HEAD", "POST"])
def verify(request: UserRequest, slug: str) -> HttpResponse:
    """What it is for; POST takes the file and verifies."""
    study = study_for(request.user, slug, policies.generation.may_run)
    form = VerifierForm(*((request.POST, request.FILES) if request.method == "POST" else ()))
    if form.is_bound and form.is_valid():
        refine = form.cleaned_data["flagged"] == verifier.REFINE
        with refusals.in_form(form):
            counts = verifier.verify(
                study, *form.cleaned_data["model"], refine=refine, by=request.user
            )
            words = _("%(supported)d of %(statements)d statements pass, %(flagged)d do not.")
            messages.success(request, words % counts)
            return redirect("step", slug, "verify") if refine else redirect("clusters", slug)
    context = {"study": study, "form": form, "waiting": verifier.unverified(study).count()}
    status = 400 if form.errors else 200
    return render(request, "candidates/verifier.html", context, status=status)
