"""The review queue: one page for everything that models wrote."""

from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation import policies
from annotation.accounts.requests import UserRequest
from annotation.candidates import proposals, review
from annotation.core import refusals
from annotation.core.errors import DomainError
from annotation.studies.access import study_for
from annotation.studies.models import Study

PAGE = 20


@require_safe
def queue(request: UserRequest, slug: str, kind: str) -> HttpResponse:
    """What waits for this reviewer, one page of it, with what to look out for."""
    study = study_for(request.user, slug, policies.generation.may_run)
    _check(kind)
    flag = request.GET.get("flag", "")
    flags = review.flags_of(kind)
    similar = review.similarity_of(request.GET.get("similar"), study)
    if "similar" in request.GET and kind != review.ANSWER:
        rows = review.near_duplicates(study, kind, request.user, similar)
    else:
        rows = review.waiting(study, kind, request.user, flag=flag if flag in flags else "")
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    for row in page:
        row.words = [flags.get(code, code) for code in row.flags]
        # Answers are compared by people, not with each other.
        row.beside = kind != review.ANSWER and row.nearest and row.similarity >= similar
    context = {
        "study": study,
        "kind": kind,
        "page": page,
        "reasons": review.reasons_of(kind),
        "flags": flags,
        "flag": flag,
        "kinds": review.counts(study),
        "crowded": review.over_represented(study, kind),
        "preview": [] if kind == review.ANSWER else review.preview(study, kind, request.user),
        "similar": similar,
        "undo": request.session.get(_key(study, kind), []),
    }
    return render(request, "candidates/review.html", context)


@require_POST
def decide(request: UserRequest, slug: str, kind: str) -> HttpResponse:
    """Accept or reject what was chosen; or take the last decision back."""
    study = study_for(request.user, slug, policies.generation.may_run)
    _check(kind)
    key = _key(study, kind)
    with refusals.as_message(request):
        if request.POST.get("do") == "undo":
            count = review.undo(study, kind, request.session.pop(key, []), by=request.user)
            words = ngettext("%(n)d decision taken back.", "%(n)d decisions taken back.", count)
        else:
            words, count = _decided(request, study, kind, key)
        messages.success(request, words % {"n": count})
    return redirect("review", slug, kind)


def _decided(request: UserRequest, study: Study, kind: str, key: str) -> tuple[str, int]:
    ids = _ids(request.POST.getlist("row"))
    accepts = request.POST.get("do") == "accept"
    reason = request.POST.get("reason", "")
    count = review.decide(study, kind, ids, accepts=accepts, reason=reason, by=request.user)
    # Undo is for the last decision of this browser; older ones are on their own pages.
    request.session[key] = [str(pk) for pk in ids]
    if accepts:
        return ngettext("%(n)d accepted.", "%(n)d accepted.", count), count
    return ngettext("%(n)d rejected.", "%(n)d rejected.", count), count


def _ids(values: list[str]) -> list[UUID]:
    try:
        ids = [UUID(value) for value in values]
    except ValueError as error:
        raise DomainError(_("Choose what is meant first."), code="rows") from error
    if not ids:
        raise DomainError(_("Choose what is meant first."), code="rows")
    return ids


def _check(kind: str) -> None:
    if kind != review.ANSWER and kind not in proposals.STEPS:
        raise Http404


def _key(study: Study, kind: str) -> str:
    return f"review-{study.pk}-{kind}"
