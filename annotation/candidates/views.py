from django.contrib import messages
from django.core.paginator import Paginator
from django.db import transaction
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.candidates import calls, endpoints, generate, spending
from annotation.candidates.endpoints import Endpoint
from annotation.candidates.forms import GenerateForm
from annotation.candidates.models import Candidate, Retrieval
from annotation.candidates.strategies import rewrites
from annotation.core import refusals
from annotation.core.heartbeat import worker_alive
from annotation.studies.access import study_for
from annotation.studies.models import Study

PAGE = 20
FAILURES = 50


@require_http_methods(["GET", "POST"])
def candidates(request: UserRequest, slug: str) -> HttpResponse:
    """The study's answers: GET shows them and what is being written, POST asks for more."""
    study = study_for(request.user, slug, policies.candidate.may_change)
    if request.method == "GET" and request.htmx:
        return _progress(request, study)
    servers = configured_servers(request)
    form = GenerateForm(request.POST or None, study=study, servers=servers)
    if form.is_valid() and request.POST.get("do") == "plan":
        return _page(
            request, study, form, servers, plan=_planned(request, study, form.cleaned_data)
        )
    if form.is_valid():
        with refusals.as_message(request):
            new = len(_ask(study, form.cleaned_data, request.user))
            text = ngettext("%(n)d answer was asked for.", "%(n)d answers were asked for.", new)
            messages.success(request, text % {"n": new})
            return redirect("candidates", study.slug)
    return _page(request, study, form, servers)


@require_POST
def retry(request: UserRequest, slug: str) -> HttpResponse:
    """Ask again for every answer that failed."""
    study = study_for(request.user, slug, policies.candidate.may_change)
    count = generate.retry(study, by=request.user)
    text = ngettext("%(n)d answer is tried again.", "%(n)d answers are tried again.", count)
    messages.success(request, text % {"n": count})
    return redirect("candidates", study.slug)


@require_POST
def cancel(request: UserRequest, slug: str) -> HttpResponse:
    """Ask for nothing more of what waits."""
    study = study_for(request.user, slug, policies.candidate.may_change)
    count = generate.cancel(study, by=request.user)
    text = ngettext("%(n)d is cancelled.", "%(n)d are cancelled.", count)
    messages.success(request, text % {"n": count})
    return redirect("candidates", study.slug)


def configured_servers(request: UserRequest) -> list[endpoints.Endpoint]:
    """The configured endpoints; a message and none where the configuration is wrong."""
    try:
        return endpoints.all()
    except endpoints.EndpointsWrong as wrong:
        messages.error(request, str(wrong))
        return []


def _planned(request: UserRequest, study: Study, data: dict) -> spending.Estimate | None:
    """What the choice would take; nothing is asked for. None, with a message, where it cannot."""
    with refusals.as_message(request), transaction.atomic():
        asked = _ask(study, data, request.user)
        runs = {row.run_id: row.run for row in asked if row.run}
        transaction.set_rollback(True)
        return spending.together([spending.Estimate(**run.planned) for run in runs.values()])
    return None


def _ask(study: Study, data: dict, by: User) -> list[Candidate]:
    """Ask for the answers and the rewrites among the chosen strategies, all or none."""
    names = {"endpoint": data["endpoint"], "by": by}
    answers = [name for name in data["strategies"] if name not in rewrites()]
    new = []
    with transaction.atomic():
        if answers:
            new += generate.request(study, strategies=answers, **names)
        for how in rewrites():
            if how in data["strategies"]:
                sources = generate.sources_of(study, "A1")
                new += generate.request_rewrites(sources, how, **names)
    return new


def _progress(request: UserRequest, study: Study) -> HttpResponse:
    """The live part alone; when nothing is left to do the browser fetches the page anew."""
    context = _state(study)
    response = render(request, "candidates/candidates.html#progress", context)
    if not context["busy"]:
        response["HX-Refresh"] = "true"
    return response


def _state(study: Study) -> dict:
    counts = generate.progress(study)
    busy = bool(counts["requested"] + counts["running"])
    return {
        "study": study,
        "counts": counts,
        "finished": counts["done"] + counts["failed"] + counts["cancelled"],
        "busy": busy,
        "few": generate.with_few_answers(study),
        "fewest": generate.FEWEST,
        "stopped": calls.stopped(Candidate.every.filter(study=study)).count(),
        "no_worker": busy and not worker_alive(),
    }


def _page(
    request: UserRequest,
    study: Study,
    form: BaseForm,
    servers: list[Endpoint],
    plan: spending.Estimate | None = None,
) -> HttpResponse:
    rows = Candidate.objects.filter(study=study)
    failed = calls.stopped(rows).filter(status="failed")
    done = rows.filter(status="done").select_related("query")
    pages = Paginator(done.order_by("query__external_id", "strategy", "external_id"), PAGE)
    context = _state(study) | {
        "form": form,
        "plan": plan,
        "servers": servers,
        "searches": Retrieval.objects.filter(study=study).exists(),
        "embedded": any(server.embedded for server in servers),
        "failed": failed.select_related("query").order_by("external_id")[:FAILURES],
        "page": pages.get_page(request.GET.get("page")),
    }
    return render(request, "candidates/candidates.html", context)
