"""The owner's page of one query's gold response, claims and rubric."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import endpoints
from annotation.candidates.models import Candidate
from annotation.core import refusals
from annotation.core.errors import DomainError
from annotation.core.text import compared
from annotation.judging.gold import claims
from annotation.queries import gold, owner_queries
from annotation.queries.models import Query
from annotation.studies.access import study_for
from annotation.studies.models import Study


def _study_and_query(request: UserRequest, slug: str, key: str) -> tuple[Study, Query]:
    study = study_for(request.user, slug, policies.query.may_write_own)
    if not study.consented:
        raise PermissionDenied
    return study, get_object_or_404(owner_queries.of(study, request.user), external_id=key)


@require_http_methods(["GET", "POST"])
def page(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """GET shows all of it; POST saves the gold response as its next version."""
    study, query = _study_and_query(request, slug, key)
    if request.htmx:
        # Only what is being written: the fields may hold what nobody has saved yet.
        context = {"study": study, "query": query, "asked": True} | _jobs(query)
        return render(request, "judging/gold.html#jobs", context)
    if request.method == "GET":
        return _page(request, study, query)
    judged = claims.scored(query, request.user)
    best = judged[0]["candidate"].pk if judged and "empty" not in request.GET else None
    try:
        gold.save(query, request.user, request.POST.get("text", ""), source=best)
    except DomainError as refusal:
        return _page(request, study, query, refusal)
    messages.success(request, _("The gold response is saved; its earlier versions are kept."))
    return redirect("gold", slug, key)


@require_POST
def split(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """Ask the chosen model server to split the newest gold response into claims, or once more."""
    _study, query = _study_and_query(request, slug, key)
    response = gold.newest(query)
    endpoint = request.POST.get("endpoint", "")
    with refusals.as_message(request):
        if response is None:
            raise DomainError(_("Save a gold response first."))
        if "by_hand" in request.POST:
            claims.write_by_hand(response, request.user, request.POST.get("claims", ""))
        elif "again" in request.POST:
            claims.split_again(response, request.user, endpoint=endpoint)
        else:
            claims.request_claims(response, endpoint=endpoint, by=request.user)
    return redirect("gold", slug, key)


@require_POST
def rubric(request: UserRequest, slug: str, key: str) -> HttpResponse:
    """Save the rubric as edited, or ask a model server to write one from the owner's judgments."""
    _study, query = _study_and_query(request, slug, key)
    with refusals.as_message(request):
        if "write" in request.POST:
            endpoint = request.POST.get("endpoint", "")
            claims.request_rubric(query, request.user, endpoint=endpoint, by=request.user)
        else:
            gold.save_rubric(query, request.POST.get("text", ""), author=request.user)
            messages.success(request, _("The rubric is saved; its earlier versions are kept."))
    return redirect("gold", slug, key)


def _page(
    request: UserRequest, study: Study, query: Query, refusal: DomainError | None = None
) -> HttpResponse:
    judged = claims.scored(query, request.user)
    versions = list(query.gold_responses.order_by("-version"))
    newest = versions[0] if versions else None
    # What a person finds in the field first: their own words, else the answer they liked best.
    empty = "empty" in request.GET or not judged
    text = newest.text if newest else "" if empty else judged[0]["candidate"].text
    if len(versions) > 1:
        before = versions[1].text
    else:
        before = judged[0]["candidate"].text if judged else ""
    review = claims.reviewed(query, request.user)
    context = {
        "study": study,
        "query": query,
        "judged": judged,
        "versions": versions,
        "newest": newest,
        "text": request.POST.get("text", "") if refusal else text,
        "empty": empty and bool(judged),
        "refusal": refusal,
        "changes": compared(before, newest.text)
        if newest and before not in ("", newest.text)
        else [],
        "reviewed": review and review.slot.item.gold,
        "information": claims.information(review),
        "claims": newest.claims.all() if newest else [],
        "rubric": gold.newest_rubric(query),
        "servers": endpoints.usable(),
    } | _jobs(query)
    return render(request, "judging/gold.html", context, status=refusal.status if refusal else 200)


def _jobs(query: Query) -> dict:
    """What was asked of a model and has not come back, and whether it still may by itself."""
    waiting = Candidate.every.filter(query=query, taken_at=None).exclude(purpose="answer")
    jobs = list(waiting.order_by("created_at", "pk"))
    running = {job.purpose for job in jobs if job.status != "failed"}
    return {"jobs": jobs, "running": running, "splitting": "claims" in running}
