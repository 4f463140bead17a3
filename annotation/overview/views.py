"""The first page of a study for whoever runs it or reads its results."""

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.core.jobs import worker_alive
from annotation.core.pages import whole_or_part
from annotation.overview.steps import figures_of, steps_of
from annotation.studies.access import study_for
from annotation.studies.models import Study


@require_safe
def overview(request: UserRequest, slug: str) -> HttpResponse:
    """The steps of the study; htmx fetches them alone while something runs."""
    study = study_for(request.user, slug, policies.study.may_read)
    figures = figures_of(study)
    steps = steps_of(study, figures, _agreement(study), request.user)
    context = {
        "study": study,
        "steps": steps,
        "running": any(step.state == "running" for step in steps),
        "no_worker": bool(figures.writing or figures.freezing) and not worker_alive(),
    }
    return whole_or_part(request, "studies/overview.html", "steps", context)


def _agreement(study: Study) -> list[str]:
    """One sentence a task with votes: its first coefficient."""
    sentences = []
    for result in study.agreement_results.defer("sums", "sample").order_by("task"):
        for criterion, _report, coefficients in result.parts[:1]:
            _key, name, value = coefficients[0]
            number = "–" if value["value"] is None else f"{value['value']:.2f}"
            task = f"{result.task} ({criterion})" if criterion else result.task
            sentences.append(f"{task}: {name} {number}")
    return sentences
