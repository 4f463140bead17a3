from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.evaluation import report
from annotation.studies.access import READERS, study_for


@require_safe
def gap(request, slug):
    """How people and models judge the same attributes, prompts and answers."""
    study = study_for(request.user, slug, READERS)
    context = {"study": study, "stages": report.stages(study)}
    return render(request, "evaluation/gap.html", context)
