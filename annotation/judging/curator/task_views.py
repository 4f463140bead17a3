"""The curators' page of tasks and batches."""

from typing import Any

from django.contrib import messages
from django.db.models import QuerySet, Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates.views import configured_servers
from annotation.core import refusals
from annotation.core.errors import DomainError
from annotation.judging.batches.answers import request_answers
from annotation.judging.batches.open import close_batch, open_batches, tasks_of
from annotation.judging.batches.summary import summary_of
from annotation.judging.curator.batch_form import BatchForm
from annotation.judging.kinds import KINDS
from annotation.judging.kinds.form import form_of
from annotation.judging.kinds.planning import Scope
from annotation.judging.models import Batch
from annotation.studies.access import study_for
from annotation.studies.models import Study, TaskDefinition

# Why there may be nothing to open.
MISSING = {
    "options": gettext_lazy("No query has new answers for this task. Generate answers first."),
    "attribute": gettext_lazy("No attribute is new for this task. Import attributes first."),
    "gold": gettext_lazy("No gold response has new claims for this task."),
}


@require_http_methods(["GET", "POST"])
def tasks(request: UserRequest, slug: str) -> HttpResponse:
    """Tasks and batches, and the form of one kind: ``?kind=`` for a new task, ``?task=`` to edit.

    POST names its kind itself.
    """
    study = study_for(request.user, slug, policies.task.may_change)
    newest = study.tasks.order_by("name", "-version").distinct("name")
    edited = newest.filter(name=request.GET.get("task", "")).first()
    name = request.POST.get("kind") or (edited.kind if edited else request.GET.get("kind", ""))
    kind = KINDS.get(name) or next(iter(KINDS.values()))
    form = form_of(kind, request.POST or None, study=study, task=edited)
    if request.method == "POST" and form.is_valid():
        task = form.save(request.user)
        messages.success(request, _("Task %(task)s is defined.") % {"task": task})
        return redirect("tasks", slug)
    context = {
        "study": study,
        "form": form,
        "edited": edited,
        "kinds": [(code, kind.name) for code, kind in KINDS.items()],
        "tasks": [(task, KINDS[task.kind].name) for task in newest],
        "batches": _batches(study),
    }
    return render(request, "judging/tasks.html", context, status=400 if form.errors else 200)


@require_http_methods(["GET", "POST"])
def open_(request: UserRequest, slug: str, name: str) -> HttpResponse:
    """Show what a batch of this task would hold and cost; POST opens it as it was shown."""
    study = study_for(request.user, slug, policies.batch.may_change)
    task = study.tasks.filter(name=name).order_by("-version").first()
    if task is None:
        raise Http404
    form = BatchForm(
        request.POST if request.method == "POST" else request.GET, study=study, task=task
    )
    if not form.is_valid():
        context = {"study": study, "task": task, "form": form}
        return render(request, "judging/batch.html", context, status=400)
    asked = form.opening
    tasks, wanted = tasks_of(study, [task.name, *asked.also]), asked.wanted
    if request.method == "POST" and "endpoint" in request.POST:
        return _answers_asked(request, study, task, wanted["scope"])
    if request.method == "POST":
        seen = request.POST.get("seen", "")
        page = _opened(request, study, tasks, seen=seen, **wanted)
        if page:
            return redirect(page, slug)
    context = {
        "study": study,
        "task": task,
        "form": form,
        "summary": summary_of(study, tasks, **wanted),
        "missing": _missing(task),
        "servers": configured_servers(request),
    }
    status = 409 if request.method == "POST" else 200
    return render(request, "judging/batch.html", context, status=status)


def _answers_asked(
    request: UserRequest, study: Study, task: TaskDefinition, scope: Scope
) -> HttpResponse:
    """Ask an endpoint for the answers that the plan lacks."""
    with refusals.as_message(request):
        rows = request_answers(
            study, task, scope=scope, endpoint=request.POST["endpoint"], by=request.user
        )
        words = ngettext("%(n)d answer is asked for.", "%(n)d answers are asked for.", len(rows))
        messages.success(request, words % {"n": len(rows)})
        return redirect("candidates", study.slug)
    return redirect("open-batch", study.slug, task.name)


def _opened(request: UserRequest, study: Study, tasks: list[TaskDefinition], **wanted: Any) -> str:
    """Open a batch of each task and show a message; the page to go on with.

    "" where the batch is another than the one that was shown.
    """
    try:
        batches = open_batches(study, tasks, by=request.user, **wanted)
    except DomainError as refusal:
        messages.error(request, refusal.sentence)
        return "tasks" if refusal.code != "changed" else ""
    if batches:
        size = sum(batch.size for batch in batches)
        words = ngettext("%(n)d item is open.", "%(n)d items are open.", size)
        messages.success(request, words % {"n": size})
        return "overview"
    messages.warning(request, _missing(tasks[0]))
    return "tasks"


def _missing(task: TaskDefinition) -> str:
    asks = KINDS[task.kind].asks(task.config)
    return next(str(words) for what, words in MISSING.items() if what in asks)


@require_POST
def close(request: UserRequest, slug: str, batch: int) -> HttpResponse:
    study = study_for(request.user, slug, policies.batch.may_change)
    close_batch(get_object_or_404(Batch, study=study, pk=batch), by=request.user)
    messages.success(request, _("The batch is closed; items in hand may still be submitted."))
    return redirect("tasks", slug)


def _batches(study: Study) -> QuerySet[Batch]:
    return (
        study.batches.filter(purpose=Batch.Purpose.WORK)
        .select_related("task")
        .annotate(done=Sum("items__done"), wanted=Sum("items__overlap"))
        .order_by("-pk")
    )
