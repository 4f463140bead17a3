"""The study's page: how far it is, how well people agree, which tiers come out."""

from datetime import timedelta

from django.db.models import Count, F, Q, Sum
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from annotation.core.models import Heartbeat
from annotation.judging.models import Slot
from annotation.studies.access import READERS, study_for


@require_safe
def study(request, slug):
    """The results page; htmx fetches its live part alone."""
    found = study_for(request.user, slug, READERS)
    context = {
        "study": found,
        "progress": found.items.aggregate(
            items=Count("pk"),
            complete=Count("pk", filter=Q(done=F("overlap"))),
            done=Sum("done", default=0),
            wanted=Sum("overlap", default=0),
        ),
        "held": Slot.objects.filter(study=found, status="held").count(),
        "results": found.agreement_results.order_by("task"),
        "worker_alive": Heartbeat.objects.filter(
            name="worker", at__gt=timezone.now() - timedelta(seconds=60)
        ).exists(),
    }
    template = "agreement/study.html#live" if request.htmx else "agreement/study.html"
    return render(request, template, context)
