import logging
from dataclasses import fields
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.agreement.board import CAP
from annotation.candidates.views import configured_servers
from annotation.core import downloads, refusals
from annotation.core.errors import DomainError
from annotation.core.jobs import worker_alive
from annotation.core.words import titled
from annotation.datasets.models import Release
from annotation.evaluation import (
    draws,
    estimates,
    gap,
    judges,
    leaderboard,
    raters,
    runs,
    tasks,
)
from annotation.evaluation.forms import DrawForm, EvaluationForm, RaterForm, SystemForm
from annotation.evaluation.models import Run
from annotation.studies.access import member_of, study_page
from annotation.studies.models import Study
from annotation.studies.survey import LEAST
from annotation.votes import counting
from annotation.votes.table import VotesError

log = logging.getLogger(__name__)

UNITS = 50
TYPES = {
    "csv": "text/csv; charset=utf-8",
    "tex": "application/x-tex; charset=utf-8",
    "svg": "image/svg+xml",
}


@study_page(policies.run.may_read, "GET", "POST", post=policies.run.may_start)
def gap_report(request: UserRequest, study: Study) -> HttpResponse:
    """How people and models judge the same items.

    A POST shows what asking a model costs; a confirmed one has workers ask it.
    """
    form = RaterForm(
        request.POST if request.method == "POST" else None,
        servers=configured_servers(request),
        tasks=raters.tasks_of(study),
    )
    expected = None
    if form.is_valid():
        with refusals.in_form(form):
            wanted = runs.rating(study, form.schema)
            if form.cleaned_data["confirmed"]:
                _start(wanted, request, _("The model is being asked."))
                return redirect("gap", study.slug)
            expected = wanted.expected
    context = {
        "study": study,
        "stages": [
            stage | {"chart": gap.chart(stage), "agreements": gap.agreements(stage)}
            for stage in gap.of_study(study)
        ],
        "runs": raters.runs_of(study),
        "form": form,
        "expected": expected,
        "may_ask": policies.run.may_start(member_of(request.user, study)),
    }
    return render(request, "evaluation/gap.html", context)


def _start(wanted: runs.Wanted, request: UserRequest, words: str) -> None:
    tasks.notify(runs.start(wanted, by=request.user, background=True).pk)
    messages.success(request, words)


@study_page(policies.run.may_read, "GET", "POST", post=policies.batch.may_change)
def estimated(request: UserRequest, study: Study, task: str) -> HttpResponse:
    """What a task's votes say, with and without each model's verdicts; a POST draws items."""
    titles = counting.titles_of_task(study, task)
    asked = {name: titles.get(name, name) for name in estimates.questions_of(study, task)}
    form = DrawForm(request.POST if request.method == "POST" else None, questions=asked)
    if form.is_valid():
        with refusals.in_form(form):
            drawn = draws.draw(study, draws.Round(task=task, **form.values), request.user)
            words = ngettext("%(items)d item is drawn, for %(slots)d votes.",
                             "%(items)d items are drawn, for %(slots)d votes.",
                             drawn.items)  # fmt: skip
            messages.success(request, words % {"items": drawn.items, "slots": drawn.slots})
            return redirect("estimates", study.slug, task)
    question, left_out = request.GET.get("question", ""), "without_proposals" in request.GET
    context: dict[str, Any] = {"study": study, "task": task, "question": question, "cap": CAP}
    context |= {"form": form, "half_width": estimates.PLANNED, "asked": asked}
    context |= draws.state(study, task)
    context["may_draw"] = policies.batch.may_change(member_of(request.user, study))
    try:
        context |= estimates.estimates(study, task, question, CAP, proposed=not left_out)
        rows = context["agreements"]
        context["agreements"] = [(titles.get(row.question, ""), row) for row in rows]
    except DomainError as refusal:
        if refusal.code == "task":
            raise Http404 from refusal
        context |= {"refusal": str(refusal), "servers": configured_servers(request)}
    return render(request, "evaluation/estimates.html", context)


@study_page(policies.result.may_read, "GET")
def by_group(request: UserRequest, study: Study, task: str) -> HttpResponse:
    """What people say to a task by what they said of themselves."""
    question, left_out = request.GET.get("question", ""), "without_proposals" in request.GET
    context: dict[str, Any] = {"study": study, "task": task, "question": question, "least": LEAST}
    context["proposals"] = counting.proposals(study, task, left_out=left_out)
    try:
        found = estimates.groups(study, task, question, CAP, proposed=not left_out)
        context["groups"] = found
        context["heads"] = [name.replace("_", " ") for name in found[0].figures] if found else []
    except DomainError as refusal:
        if refusal.code == "task":
            raise Http404 from refusal
        context["refusal"] = str(refusal)
    return render(request, "evaluation/groups.html", context)


@study_page(policies.run.may_read, "GET")
def gap_json(request: UserRequest, study: Study) -> HttpResponse:
    """The whole report as JSON, as the command prints it."""
    return downloads.attachment(f"{study.slug}-gap.json", "application/json", gap.as_json(study))


@study_page(policies.run.may_read, "GET")
def gap_file(request: UserRequest, study: Study, task: str, ending: str) -> HttpResponse:
    """The numbers of a stage as CSV, its kappas as SVG or PNG."""
    stage = next((row for row in gap.of_study(study) if row["task"].name == task), None)
    if stage is None or ending not in downloads.CHART_TYPES:
        raise Http404
    if ending == "csv":
        return downloads.attachment(
            f"{study.slug}-gap-{task}.csv", downloads.CHART_TYPES["csv"], gap.as_csv(stage)
        )
    drawn = gap.chart(stage)
    if not drawn:
        raise Http404
    caption = _("Mean Cohen's kappa of two raters, 95 %% intervals over %(n)d items.") % {
        "n": stage["items"]
    }
    return downloads.picture(
        f"{study.slug}-gap-{task}.{ending}", drawn, f"{caption} {study.title}, {titled(task)}."
    )


@study_page(policies.run.may_read, "GET")
def gap_units(request: UserRequest, study: Study, task: str) -> HttpResponse:
    """The items behind a number of the report; the address says which (``gap.Units``)."""
    definition = get_object_or_404(study.tasks.filter(name=task).order_by("-version")[:1])
    units = gap.units_of(definition.kind)
    if units is None:
        raise Http404
    names = [field.name for field in fields(units.Wanted)]
    wanted = units.Wanted(**{name: request.GET.get(name, "") for name in names})
    try:
        rows = units.units(study, definition, wanted)
    except VotesError:
        rows = []
    page = Paginator(rows, UNITS).get_page(request.GET.get("page"))
    context = {"study": study, "task": task, "page": page, "wanted": wanted}
    return render(request, "evaluation/gap_units.html", context)


@study_page(policies.run.may_start, "POST")
def rater_again(request: UserRequest, study: Study, run: UUID) -> HttpResponse:
    """Go on with a model's run on a task that stopped."""
    _go_on(request, public_id=run, study=study)
    return redirect("gap", study.slug)


def _go_on(request: UserRequest, **of: Any) -> None:
    run = get_object_or_404(Run, **of)
    with refusals.as_message(request):
        runs.repeat_run(run, by=request.user)
        tasks.notify(run.pk)
        messages.success(request, _("The model is being asked."))


@study_page(policies.run.may_read, "GET", "POST", post=policies.run.may_start)
def models(request: UserRequest, study: Study, version: int) -> HttpResponse:
    """Who stands where on a release; a POST shows what a run costs, a confirmed one starts it."""
    release = get_object_or_404(Release, study=study, version=version)
    form = EvaluationForm(
        request.POST if request.method == "POST" else None,
        servers=configured_servers(request),
        layout=release.layout,
    )
    expected = None
    if form.is_valid():
        with refusals.in_form(form):
            wanted = runs.of_release(release, form.schema)
            if form.cleaned_data["confirmed"]:
                _start(wanted, request, _("The model is being asked."))
                return redirect("models", study.slug, version)
            expected = wanted.expected
    context = _standings(study, release) | {
        "form": form,
        "expected": expected,
        "judge": judges.of_layout(release.layout),
        "measurable": runs.settings(release.layout) and release.status == Release.Status.DONE,
        "may_ask": policies.run.may_start(member_of(request.user, study)),
    }
    return render(request, "evaluation/models.html", context)


@study_page(policies.run.may_start, "GET", "POST")
def system(request: UserRequest, study: Study, version: int) -> HttpResponse:
    """Score a system's answers to a release's queries; a POST shows what that costs first."""
    release = get_object_or_404(Release, study=study, version=version)
    if judges.of_layout(release.layout) is None or release.status != Release.Status.DONE:
        raise Http404
    form = SystemForm(
        *((request.POST, request.FILES) if request.method == "POST" else ()),
        servers=configured_servers(request),
        layout=release.layout,
    )
    context: dict[str, Any] = {"study": study, "release": release, "form": form}
    if form.is_valid():
        with refusals.in_form(form):
            wanted = runs.of_release(release, form.schema, form.cleaned_data["rows"])
            if form.cleaned_data["confirmed"]:
                _start(wanted, request, _("The answers are being judged."))
                return redirect("models", study.slug, version)
            context["expected"] = wanted.expected
            context["answers"] = form.cleaned_data["answers"]
    return render(request, "evaluation/system.html", context)


def _standings(study: Study, release: Release) -> dict:
    benchmark = leaderboard.of_release(release)
    context: dict[str, Any] = {"study": study, "release": release}
    context["tables"] = _of_aspects(release).items()
    if benchmark is None:
        return context
    rows = leaderboard.standings(benchmark)
    under_way = list(benchmark.runs.exclude(status="done").order_by("-created_at")[:20])
    waiting = any(run.status in ("requested", "running") for run in under_way)
    return context | {
        "rows": rows,
        "chart": rows
        and leaderboard.chart(
            rows, _("Accuracy"), _("Per cent of pairs with 95 % intervals; the line is chance.")
        ),
        "tables": [*leaderboard.all_tables(benchmark).items(), *context["tables"]],
        "under_way": under_way,
        "no_worker": waiting and not worker_alive(),
    }


def _of_aspects(release: Release) -> dict:
    try:
        return leaderboard.aspect_tables(release)
    except DomainError as refusal:
        # The rest of the page does not need the files.
        log.warning("release %s: %s", release.pk, refusal.sentence)
        return {}


@study_page(policies.run.may_start, "POST")
def again(request: UserRequest, study: Study, version: int, run: UUID) -> HttpResponse:
    """Go on with a run that stopped."""
    release = get_object_or_404(Release, study=study, version=version)
    _go_on(request, public_id=run, benchmark__release=release)
    return redirect("models", study.slug, version)


@study_page(policies.run.may_read, "GET")
def export(
    request: UserRequest, study: Study, version: int, name: str, ending: str
) -> HttpResponse:
    """A table of the page as CSV or LaTeX, the standings as SVG, too."""
    release = get_object_or_404(Release, study=study, version=version)
    more = _of_aspects(release)
    benchmark = leaderboard.of_release(release)
    text = ending in TYPES and leaderboard.exported(benchmark, name, ending, more)
    if not text:
        raise Http404
    return downloads.attachment(f"{study.slug}-v{version}-{name}.{ending}", TYPES[ending], text)
