"""The checklist page of a study in which people judge answers to their own questions."""

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from annotation.accounts.requests import UserRequest
from annotation.judging.owner import checklist, services
from annotation.queries import owner_queries
from annotation.studies.access import study_for
from annotation.studies.models import Role


@require_safe
def steps(request: UserRequest, slug: str) -> HttpResponse:
    """Every step with its state; htmx gets the list alone while something is waited for."""
    study = study_for(request.user, slug, (Role.ANNOTATOR,))
    if not owner_queries.asked_for(study):
        raise Http404
    if not study.consented:
        raise PermissionDenied
    context = {
        "study": study,
        "checklist": checklist.checklist(request.user, study),
        "services": services.SERVICES,
        "part": bool(request.htmx),
    }
    part = "#steps" if request.htmx else ""
    response = render(request, f"judging/owner_steps.html{part}", context)
    patch_vary_headers(response, ["HX-Request"])
    return response
