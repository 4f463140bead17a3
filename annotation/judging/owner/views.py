"""The checklist page of a study in which people judge answers to their own questions."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from annotation.accounts.requests import UserRequest
from annotation.judging.owner import checklist, services
from annotation.queries import owner_queries


@require_safe
def steps(request: UserRequest, slug: str) -> HttpResponse:
    """Every step with its state; htmx gets the list alone while something is waited for."""
    study = owner_queries.study_of(request.user, slug)
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
