"""The checklist page of a study in which people judge answers to their own questions."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from annotation.accounts.requests import UserRequest
from annotation.core.pages import whole_or_part
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
    return whole_or_part(request, "judging/owner_steps.html", "steps", context)
