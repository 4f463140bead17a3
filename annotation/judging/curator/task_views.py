"""The curators' pages of tasks and batches, and of a task tried as an annotator meets it."""

import re
from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db.models import QuerySet, Sum
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates.views import configured_servers
from annotation.core import refusals, schema
from annotation.core.errors import DomainError
from annotation.core.languages import endonym
from annotation.core.pages import done, show
from annotation.core.words import titled
from annotation.judging.batches.open import (
    NO_CONTROL,
    Opening,
    close_batch,
    open_batches,
    reopen_batch,
    tasks_of,
)
from annotation.judging.batches.preparation import request_answers, summary_of
from annotation.judging.curator import preview
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.kinds.form import task_form
from annotation.judging.kinds.planning import Scope
from annotation.judging.models import Batch
from annotation.judging.work import present
from annotation.studies.access import study_page
from annotation.studies.forms import LANGUAGES
from annotation.studies.models import Study, TaskDefinition

# Why there may be nothing to open.
MISSING = {
    "options": gettext_lazy("No query has new answers for this task. Generate answers first."),
    "attribute": gettext_lazy("No attribute is new for this task. Import attributes first."),
    "gold": gettext_lazy("No gold response has new claims for this task."),
}

ASKED = (
    *("queries", "personas", "strategies", "languages", "number", "mixed", "again", "control"),
    *("also", "order", "overlap", "sets"),
)
# Ids of a refusal, at most.
NAMED = 5


class BatchForm(schema.form_of(Opening, *ASKED)):  # type: ignore[misc]
    """Left empty, nothing is left out."""

    def __init__(self, data: QueryDict | None, *, study: Study, task: TaskDefinition) -> None:
        super().__init__(data)
        self.study, self.task = study, task
        self._offer("strategies", study.candidates.values_list("strategy", flat=True))
        languages = study.queries.values_list("language", flat=True)
        self._offer("languages", languages, words=endonym)
        others = study.tasks.exclude(name=task.name).values_list("name", flat=True)
        self._offer("also", others, fewest=1, words=titled)
        self.fields["order"].required = False
        if "also" not in self.fields:
            del self.fields["order"]
        if not kind_of(task.kind).takes_control(task.config):
            del self.fields["control"]
        self.fields["overlap"].widget.attrs["placeholder"] = task.overlap
        if task.config.get("owner_only"):
            del self.fields["overlap"]

    def _offer(
        self, name: str, values: QuerySet, fewest: int = 2, words: Callable[[str], str] = str
    ) -> None:
        """Offer the values that there are, in ``words``; nothing is asked without a choice."""
        there = sorted(value for value in values.order_by().distinct() if value)
        self.offer(name, [(value, words(value)) for value in there])
        if len(there) < fewest:
            del self.fields[name]

    def clean(self) -> dict:
        data = super().clean() or {}
        ids = {
            "queries": self.study.queries.filter(replaced_at=None),
            "personas": self.study.personas.filter(dropped_at=None),
        }
        for name, rows in ids.items():
            named = rows.filter(external_id__in=data.get(name, ()))
            there = set(named.values_list("external_id", flat=True))
            if missing := [value for value in data.get(name, ()) if value not in there]:
                words = _("The study has no %(ids)s.") % {"ids": ", ".join(missing[:NAMED])}
                self.add_error(name, words)
        if data.get("control"):
            for task in tasks_of(self.study, data.get("also", ())):
                if not kind_of(task.kind).takes_control(task.config):
                    self.add_error("also", NO_CONTROL)
        return data

    @property
    def opening(self) -> Opening:
        return Opening(task=self.task.name, **self.values)

    @property
    def narrowed(self) -> bool:
        """Whether anything was asked for: the fields are shown open then."""
        asked = {name: value for name, value in self.cleaned_data.items() if name != "order"}
        return any(asked.values()) if self.is_valid() else True


@study_page(policies.task.may_change, "GET", "POST")
def tasks(request: UserRequest, study: Study) -> HttpResponse:
    """Tasks and batches, and the form of one kind: ``?kind=`` for a new task, ``?task=`` to edit.

    POST names its kind itself.
    """
    newest = study.tasks.order_by("name", "-version").distinct("name")
    edited = newest.filter(name=request.GET.get("task", "")).first()
    name = request.POST.get("kind") or (edited.kind if edited else request.GET.get("kind", ""))
    kind = KINDS.get(name) or next(iter(KINDS.values()))
    form = task_form(kind, request.POST or None, study=study, task=edited)
    if request.method == "POST" and form.is_valid():
        task = form.save(request.user)
        return done(
            request, _("Task %(task)s is defined.") % {"task": titled(task)}, "tasks", study.slug
        )
    context = {
        "study": study,
        "form": form,
        "edited": edited,
        "kinds": [(code, kind.name) for code, kind in KINDS.items()],
        "tasks": [(task, KINDS[task.kind].name) for task in newest],
        "batches": _batches(study),
    }
    return show(request, "judging/tasks.html", context)


@study_page(policies.batch.may_change, "GET", "POST")
def open_(request: UserRequest, study: Study, name: str) -> HttpResponse:
    """Show what a batch of this task would hold and cost; POST opens it as it was shown."""
    task = _newest(study, name)
    form = BatchForm(
        request.POST if request.method == "POST" else request.GET, study=study, task=task
    )
    if not form.is_valid():
        return show(request, "judging/batch.html", {"study": study, "task": task, "form": form})
    asked = form.opening
    tasks, wanted = tasks_of(study, [task.name, *asked.also]), asked.wanted
    if request.method == "POST" and "endpoint" in request.POST:
        return _answers_asked(request, study, task, wanted["scope"])
    if request.method == "POST":
        seen = request.POST.get("seen", "")
        page = _opened(request, study, tasks, seen=seen, **wanted)
        if page:
            return redirect(page, study.slug)
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


@study_page(policies.batch.may_change, "POST")
def close(request: UserRequest, study: Study, batch: int) -> HttpResponse:
    close_batch(get_object_or_404(Batch, study=study, pk=batch), by=request.user)
    words = _("The batch is closed; items in hand may still be submitted.")
    return done(request, words, "tasks", study.slug)


@study_page(policies.batch.may_change, "POST")
def reopen(request: UserRequest, study: Study, batch: int) -> HttpResponse:
    try:
        reopen_batch(get_object_or_404(Batch, study=study, pk=batch), by=request.user)
    except DomainError as refusal:
        messages.error(request, refusal.sentence)
        return redirect("tasks", study.slug)
    return done(request, _("The batch is open again."), "tasks", study.slug)


def _newest(study: Study, name: str) -> TaskDefinition:
    return get_object_or_404(study.tasks.order_by("name", "-version").distinct("name"), name=name)


def _batches(study: Study) -> QuerySet[Batch]:
    return (
        study.batches.filter(purpose=Batch.Purpose.WORK)
        .select_related("task")
        .annotate(done=Sum("items__done"), wanted=Sum("items__overlap"))
        .order_by("-pk")
    )


@study_page(policies.task.may_change, "GET", "POST")
def try_task(request: UserRequest, study: Study, name: str) -> HttpResponse:
    """Show an item of the newest version of a task, ``?item=`` from 0; POST tries an answer.

    ``?language=`` is the language of the page.
    """
    task = _newest(study, name)
    language = request.GET.get("language")
    if language not in dict(LANGUAGES):
        language = translation.get_language()

    def page(tried: preview.Tried) -> HttpResponse:
        typed = request.POST if tried.refusal else present.fields(tried.begun)
        context = {
            "study": study,
            "task": task,
            "tried": tried,
            "shown": tried.shown,
            "proposed": bool(tried.begun),
            "refusal": tried.refusal,
            "typed": typed,
            "languages": [entry for entry in LANGUAGES if entry[0] in study.languages],
            "language": request.GET.get("language", ""),
            **present.form(tried.shown, typed),
        }
        status = tried.refusal.status if tried.refusal else 200
        return render(request, "judging/preview.html", context, status=status)

    data = request.POST if request.method == "POST" else None
    item = request.GET.get("item", "")
    number = int(item) if re.fullmatch(r"[0-9]{1,9}", item) else 0
    with translation.override({"zh": "zh-hans"}.get(language, language)):
        return preview.try_task(study, task, number=number, data=data, show=page)


@study_page(policies.task.may_change, "POST")
def try_form(request: UserRequest, study: Study) -> HttpResponse:
    """The judging page of the task that the form of ``tasks`` describes, or what is wrong with it.

    It stands in a frame beside the form, and nothing in it can be pressed.
    """
    data = request.POST.copy()
    data["name"] = data.get("name") or "preview"
    form = task_form(kind_of(data.get("kind") or next(iter(KINDS))), data, study=study)
    if not form.is_valid():
        return render(request, "judging/preview_form.html", {"form": form})
    return preview.try_task(study, form.next_version(), show=preview.framed(request, study))
