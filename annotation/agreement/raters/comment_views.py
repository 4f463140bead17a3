"""The curators' page of what annotators wrote about items, with answers to it."""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core.errors import DomainError, NotFound, uuid_or_not_found
from annotation.judging.models import Slot
from annotation.judging.work import comments as threads
from annotation.studies.access import study_for
from annotation.studies.models import Study
from annotation.votes import counting

PAGE = 25


@require_http_methods(["GET", "HEAD", "POST"])
def comments(request: UserRequest, slug: str) -> HttpResponse:
    """Threads on items, those that wait for an answer first; ``?slot=`` shows one of them."""
    study = study_for(request.user, slug, policies.judgment.may_answer_comments)
    refusal = None
    if request.method == "POST":
        try:
            slot = _uuid(request.POST.get("slot"))
            threads.answer(study, slot, request.user, request.POST.get("text", ""))
        except DomainError as error:
            refusal = error
        else:
            messages.success(request, _("The annotator can read your answer."))
            return redirect("comments", slug)
    slots = Paginator(_slots(study, request.GET.get("slot")), PAGE)
    page = slots.get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page": page,
        "rows": _rows(study, page),
        "refusal": refusal,
        "typed": request.POST,
    }
    status = refusal.status if refusal else 200
    return render(request, "agreement/comments.html", context, status=status)


def _slots(study: Study, wanted: str | None) -> QuerySet[Slot]:
    """The slots to show: all with a thread, or the one that is ``wanted``, with or without."""
    if not wanted:
        rows = threads.commented(study)
    else:
        try:
            rows = threads.judged(study).filter(pk=_uuid(wanted)).order_by("pk")
        except NotFound:
            rows = threads.judged(study).none()
    rows = rows.exclude(annotator__in=counting.withdrawn_from(study))
    return rows.select_related("annotator", "item__batch__task", "item__query", "item__attribute")


def _rows(study: Study, slots: Iterable[Slot]) -> list[dict]:
    by_slot = threads.threads(slot.pk for slot in slots)
    return [_row(study, slot, by_slot[slot.pk]) for slot in slots]


def _row(study: Study, slot: Slot, thread: list) -> dict:
    item, task = slot.item, slot.item.batch.task
    # An owner's own question is shown to nobody else, also not beside their comment on it.
    is_private = task.config.get("owner_only", False)
    asked = item.query or item.attribute
    annotator = cast(User, slot.annotator)
    has_page = not is_private and item.batch.purpose == item.batch.Purpose.WORK
    return {
        "slot": str(slot.pk),
        "task": task.name,
        "worker": counting.worker_name(annotator.pk, annotator.worker),
        "question": "" if is_private or not asked else asked.text,
        "page": has_page and reverse("result-item", args=[study.slug, task.name, item.pk]),
        "thread": thread,
    }


def _uuid(value: str | None) -> UUID:
    return uuid_or_not_found(value, _("Nobody has judged this item."))
