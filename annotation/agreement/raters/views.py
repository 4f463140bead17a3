"""The pages on raters, and of what annotators wrote about items, with answers to it."""

from collections.abc import Iterable
from typing import cast
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.agreement.raters import records
from annotation.core.errors import DomainError, NotFound, uuid_or_not_found
from annotation.core.models import AuditEvent
from annotation.judging.kinds import answers_of, config_of_task, kind_of, label_words
from annotation.judging.models import Batch, Desk, Handback, Item, Judgment, Slot
from annotation.judging.work import comments as threads
from annotation.judging.work import hidden_checks
from annotation.studies.access import member_of, study_for
from annotation.studies.models import Study
from annotation.votes import counting

PAGE = 50
SHOWN = 50


@require_safe
def overview(request: UserRequest, slug: str) -> HttpResponse:
    """Everybody who annotates, those with signs first."""
    study = study_for(request.user, slug, policies.rater.may_read)
    raters = records.raters(study)
    context = {
        "study": study,
        "page": Paginator(raters, PAGE).get_page(request.GET.get("page")),
        "cap": records.CAP if sum(rater.judgments for rater in raters) > records.CAP else None,
    }
    return render(request, "agreement/raters.html", context)


@require_safe
def rater(request: UserRequest, slug: str, user: int) -> HttpResponse:
    """One annotator: signs with their rules, answers to checks, skips, and what was done."""
    study = study_for(request.user, slug, policies.rater.may_read)
    person = records.person(study, user)
    if person is None:
        raise Http404
    record = next(record for record in records.raters(study, also=person) if record.user == person)
    context = {
        "study": study,
        "rater": record,
        "manages": policies.rater.may_sanction(member_of(request.user, study)),
        # Who has neither a desk nor a membership has imported votes only.
        "works_here": record.desk.pk or study.memberships.filter(user=person).exists(),
        "gold": _answered(study, person, Batch.Purpose.GOLD),
        "training": _answered(study, person, Batch.Purpose.TRAINING),
        "repeats": _answered(study, person, Batch.Purpose.REPEAT),
        "last": _last(study, person),
        "skips": Handback.objects.filter(
            item__study=study, annotator=person, cause=Handback.Cause.SKIPPED
        )
        .select_related("item")
        .order_by("-at")[:SHOWN],
        "bonuses": study.bonus_notes.filter(annotator=person).select_related("by").order_by("-pk"),
        "record": _record(record.desk),
        "reading": _reading(study, person),
    }
    return render(request, "agreement/rater.html", context)


def _reading(study: Study, person: User) -> dict:
    """How many of the person's judgments on this page's form were given with all in view."""
    told = Judgment.objects.filter(
        slot__study=study, annotator=person, replaced_by=None, circumstances__has_key="card"
    )
    return told.aggregate(
        of=Count("pk"),
        card=Count("pk", filter=Q(circumstances__card=True)),
        ends=Count("pk", filter=Q(circumstances__ends=True)),
        reminded=Count("pk", filter=Q(circumstances__reminded=True)),
    )


def _answered(study: Study, person: User, purpose: str) -> list[dict]:
    """The person's answers to checks of one purpose, the last first."""
    outcomes = hidden_checks.outcomes(study, purpose, annotator=person)[::-1][:SHOWN]
    words = _words([outcome.judgment for outcome in outcomes])
    return [
        {
            "outcome": outcome,
            # Copies have generated names: the name of the copied item is shown.
            "name": (outcome.item.repeats or outcome.item).external_id,
            "words": words[outcome.judgment.pk],
            "expected": label_words(outcome.item, outcome.expected),
        }
        for outcome in outcomes
    ]


def _last(study: Study, person: User) -> list[dict]:
    """The person's last judgments of work."""
    newest = Judgment.objects.filter(
        slot__study=study,
        annotator=person,
        replaced_by=None,
        slot__item__batch__purpose=Batch.Purpose.WORK,
    )
    rows = newest.select_related("slot__item__batch__task").order_by("-pk")[:SHOWN]
    words = _words(rows)
    return [
        {"judgment": row, "words": words[row.pk], "page": _page(study, row.slot.item)}
        for row in rows
    ]


def _page(study: Study, item: Item) -> str:
    """Where all votes on an item are; "" for an owner's items, which are shown to nobody else."""
    task = item.batch.task
    if task.config.get("owner_only"):
        return ""
    return reverse("result-item", args=[study.slug, task.name, item.pk])


def _words(judgments: Iterable[Judgment]) -> dict[int, list[str]]:
    """{judgment's id: its answer in words}, by canonical numbers."""
    tasks = {row.pk: row.slot.item.batch.task for row in judgments}
    answers = answers_of({pk: task.kind for pk, task in tasks.items()})
    return {
        pk: kind_of(task.kind).words(answers[pk], config_of_task(task))
        for pk, task in tasks.items()
    }


def _record(desk: Desk) -> Iterable[AuditEvent]:
    """What was done about this person: the log's events of their desk."""
    if desk.pk is None:
        return []
    events = AuditEvent.objects.filter(target="desk", target_id=str(desk.pk))
    return events.order_by("-pk")[:SHOWN]


THREADS = 25


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
    slots = Paginator(_slots(study, request.GET.get("slot")), THREADS)
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
