"""The judging page: one slot at a time, submit and next in one request."""

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.core.errors import Conflict, DomainError, NotFound, uuid_or_not_found
from annotation.core.pages import is_seen, whole_or_part
from annotation.core.records import clean
from annotation.histories import browse, consent, search
from annotation.histories.models import HistoryConsent
from annotation.judging.kinds import config_of_task, kind_of, label_words
from annotation.judging.models import Batch, Checks, Draft, Item, Judgment, Participation, Slot
from annotation.judging.work import comments, hidden_checks, present, queue, submit
from annotation.queries import owner_queries
from annotation.queries.models import Query
from annotation.studies import crowd
from annotation.studies.access import study_for, study_page
from annotation.studies.models import Study, TaskDefinition
from annotation.studies.wording import localized

# Sessions of a history that stand beside an item, at most.
BESIDE_LIMIT = 12


# Compressed here, because the page is fetched over whatever line an annotator has.
@gzip_page
@require_http_methods(["GET", "POST"])
def judge(request: UserRequest, slug: str) -> HttpResponse:
    """GET shows the annotator's slot (claiming one); POST stores the answer and shows the next."""
    study = study_for(request.user, slug, policies.judgment.may_give)
    if not study.consented:
        return _go(request, reverse("consent", args=[slug]))
    if request.method == "POST":
        return _submit(request, study)
    if study.match_languages and request.user.reads is None:
        return _go(request, f"{reverse('reading')}?next={request.path}")
    slot, last = _next(study, request.user), submit.last_answered(study, request.user)
    if (
        not (slot or last)
        and study.status != Study.Status.CLOSED
        and owner_queries.asked_for(study)
    ):
        # Whoever judges answers to own questions has other steps to take before.
        return _go(request, reverse("owner-steps", args=[slug]))
    return _page(request, study, slot, last=last)


def _next(study: Study, annotator: User) -> UUID | None:
    """The slot this person gets, or None; a participant whose quota is reached gets no more."""
    served = annotator.worker and crowd.completion(
        annotator, study, Participation.done_by(annotator, study)
    )
    if served or study.status != Study.Status.OPEN:
        return queue.in_hand(study, annotator)
    return queue.claim(study, annotator)


@study_page(policies.judgment.may_give, "GET", "POST")
def sets(request: UserRequest, study: Study) -> HttpResponse:
    """Whom the annotator may judge items of next, set by set; POST chooses one, or none."""
    if not study.consented:
        return redirect("consent", study.slug)
    if request.method == "POST":
        chosen = request.POST.get("set", "")
        number = int(chosen) if chosen.isdecimal() and len(chosen) < 19 else None
        queue.choose(study, request.user, number)
        return redirect("judge", study.slug)
    rows = present.open_sets(study, request.user)
    context = {"study": study, "rows": rows, "held": queue.in_hand(study, request.user)}
    return render(request, "judging/sets.html", context)


@study_page(policies.study.may_open, "GET")
def guideline(request: UserRequest, study: Study) -> HttpResponse:
    """The study's guideline as its tasks stand now, to read and to print.

    With ``?task=ID`` that of one task in the version of the item on the judging page; htmx gets it
    without the page around it.
    """
    tasks: Iterable[TaskDefinition] = study.tasks.order_by("name", "-version").distinct("name")
    if "task" in request.GET:
        tasks = [_task(study, request.GET["task"])]
    # Tasks of one guideline stand together above it.
    groups: dict[str, list[TaskDefinition]] = {}
    for task in tasks:
        groups.setdefault(localized(task, "guideline") or task.name, []).append(task)
    context = {"study": study, "groups": groups.values()}
    return whole_or_part(request, "judging/guideline.html", "tasks", context)


@require_http_methods(["GET", "POST"])
def tour(request: UserRequest, slug: str) -> HttpResponse:
    """How a task (``?task=ID``) is judged, with a worked example; POST notes that it was seen."""
    study = study_for(request.user, slug, policies.judgment.may_give)
    task = _task(study, request.GET.get("task"))
    if request.method == "POST":
        _note_tour(study, request.user, task)
        return HttpResponse(status=204) if request.htmx else redirect("judge", slug)
    participation = Participation.objects.filter(study=study, annotator=request.user)
    toured, kind = participation.values_list("toured", flat=True).first() or [], kind_of(task.kind)
    words = localized(task, "question") or str(kind.question)
    questions = kind.questions(config_of_task(task))
    context = {
        "study": study,
        "task": task,
        "kind": kind,
        "sample": kind.tour,
        "example": _example(study, task),
        "asked": [words] if words else [question.words for question in questions],
        # Who knows the study from another task meets the example alone.
        "further": bool(toured) and task.name not in toured,
    }
    return whole_or_part(request, "judging/tour.html", "tour", context)


@transaction.atomic
def _note_tour(study: Study, annotator: User, task: TaskDefinition) -> None:
    """Note that this person has seen the tour of ``task``: it does not open by itself again."""
    queue.lock_participation(study, annotator)
    participation = Participation.objects.get(study=study, annotator=annotator)
    if task.name not in participation.toured:
        participation.toured.append(task.name)
        participation.save(update_fields=["toured"])


def _example(study: Study, task: TaskDefinition) -> Item | None:
    """The first training item of ``task`` that is explained, or None.

    Where training is a test to be passed, none of it is given away: then None too.
    """
    if Checks.objects.filter(study=study, pass_mark__gt=0).exists():
        return None
    items = Item.objects.filter(
        study=study, batch__task__name=task.name, batch__purpose=Batch.Purpose.TRAINING
    )
    explained = items.exclude(explanation="").select_related("query", "attribute")
    return explained.order_by("position").first()


@study_page(policies.judgment.may_give, "GET")
def beside(request: UserRequest, study: Study, slot: UUID) -> HttpResponse:
    """Sessions beside one's item: of one's own history the nearest, else those its owner shows."""
    shown = _slot_of(study, slot, request.user)
    sessions = sessions_beside(study, shown.query_id, request.user)
    return render(request, "judging/beside.html", {"sessions": sessions})


@study_page(policies.judgment.may_give, "GET")
def sources(request: UserRequest, study: Study, slot: UUID) -> HttpResponse:
    """The answers of one's own slot as they were written, in the order shown."""
    shown = _slot_of(study, slot, request.user)
    return JsonResponse({"answers": [clean(text) for _id, text in shown.answers]})


def _slot_of(study: Study, slot: UUID, annotator: User) -> present.Shown:
    """A slot of this person's, as shown; 404 for any other."""
    if not Slot.objects.filter(pk=slot, study=study, annotator=annotator).exists():
        raise Http404
    return present.show(slot, annotator)


@study_page(policies.judgment.may_give, "POST")
def skip(request: UserRequest, study: Study) -> HttpResponse:
    """Hand the item back with a reason; it is not offered to this person again."""
    reason = request.POST.get("skip_reason") or request.POST.get("reason", "")
    reason = reason.replace("\x00", "")[:5000]
    try:
        slot_id = _slot_id(request.POST)
        queue.hand_back(slot_id, request.user, "skipped", reason)
        Draft.objects.filter(slot=slot_id, annotator=request.user).delete()
    except DomainError as refusal:
        return _refused(request, study, refusal)
    return _go(request, reverse("judge", args=[study.slug]))


@study_page(policies.judgment.may_give, "POST")
def draft(request: UserRequest, study: Study) -> HttpResponse:
    """Keep what is typed so far, for this person alone."""
    data = request.POST
    try:
        typed = submit.answer_fields(data)
        submit.save_draft(study, _slot_id(data), request.user, typed, change="change" in data)
    except DomainError as refusal:
        return HttpResponse(
            refusal.sentence, status=refusal.status, content_type="text/plain; charset=utf-8"
        )
    return HttpResponse(status=204)


@require_http_methods(["GET", "POST"])
def judged(request: UserRequest, slug: str, slot: UUID) -> HttpResponse:
    """An item that this person has judged, with the answer given; POST changes it."""
    study = study_for(request.user, slug, policies.judgment.may_give)
    old = submit.own_judgment(study, slot, request.user)
    if request.method == "GET":
        return _judged_page(request, study, old)
    data = request.POST
    if "fill" in data:
        return _judged_page(request, study, old, typed=_filled(slot, request))
    try:
        key, seconds = data.get("key", ""), data.get("seconds")
        submit.revise(study, slot, request.user, data, key=key, seconds=seconds)
    except DomainError as refusal:
        return _judged_page(request, study, old, refusal)
    messages.success(request, _("Your answer is changed. The earlier one is kept."))
    return _go(request, reverse("judge", args=[slug]))


def _judged_page(
    request: UserRequest,
    study: Study,
    old: Judgment,
    refusal: DomainError | None = None,
    typed: QueryDict | None = None,
) -> HttpResponse:
    shown = present.show(old.slot_id, request.user)
    thread = comments.threads([old.slot_id])[old.slot_id]
    if is_seen(request):
        comments.mark_read(request.user, [old.slot_id])
    # An unfinished change goes on where it was left.
    stored = present.fields(shown.draft) if shown.draft else present.answered(shown, old)
    if typed is None:
        typed = request.POST if refusal else stored
    context = {
        "study": study,
        "shown": shown,
        "old": old,
        "editable": submit.editable(study, old),
        "thread": thread,
        "beside": submit.beside(study, old.slot_id, request.user),
        "refusal": refusal,
        "typed": typed,
        **present.form(shown, typed),
    }
    return whole_or_part(request, "judging/judged.html", "judge", context)


def _submit(request: UserRequest, study: Study) -> HttpResponse:
    """Store what was sent; the page that follows, or the same one with what is wrong."""
    data = request.POST
    try:
        slot_id = _slot_id(data)
        if "fill" in data:
            return _page(request, study, slot_id, typed=_filled(slot_id, request))
        stored = submit.submit(
            study,
            slot_id,
            request.user,
            data,
            key=data.get("key", ""),
            seconds=data.get("seconds"),
            # A crowd's participants have a quota, which is looked at before they get more.
            claim_next=study.status == Study.Status.OPEN and not request.user.worker,
        )
    except (Conflict, NotFound) as refusal:
        return _refused(request, study, refusal)
    except DomainError as refusal:
        try:
            return _page(request, study, slot_id, refusal=refusal)
        except NotFound as gone:
            return _refused(request, study, gone)
    if stored.training:
        if request.htmx:
            return _explained(request, study, slot_id)
        return redirect("explained", study.slug, slot_id)
    if not request.htmx:
        return redirect("judge", study.slug)
    following = _next(study, request.user) if request.user.worker else stored.next_slot
    return _page(request, study, following, last=slot_id)


def _filled(slot_id: UUID, request: UserRequest) -> QueryDict:
    """The form as a button of the kind fills it in; nothing is stored."""
    shown = present.show(slot_id, request.user)
    return shown.kind.fill(shown, request.POST)


@study_page(policies.judgment.may_give, "GET")
def explained(request: UserRequest, study: Study, slot: UUID) -> HttpResponse:
    """Whether one's own answer to a training item is the expected one, and why."""
    return _explained(request, study, slot)


def _explained(request: UserRequest, study: Study, slot_id: UUID) -> HttpResponse:
    old = submit.own_judgment(study, slot_id, request.user)
    item = old.slot.item
    if item.batch.purpose != Batch.Purpose.TRAINING:
        raise NotFound(_("This is no training item."))
    shown = present.show(slot_id, request.user)
    label = shown.kind.answer_of(old).label
    context = {
        "study": study,
        "shown": shown,
        "right": hidden_checks.agrees(item, label, item.expected),
        "answer": label_words(item, label, shown.order),
        "expected": label_words(item, item.expected, shown.order),
        "explanation": item.explanation,
        "training": hidden_checks.training_record(study, request.user),
    }
    return whole_or_part(request, "judging/checks_explained.html", "judge", context)


def _page(
    request: UserRequest,
    study: Study,
    slot_id: UUID | None,
    refusal: DomainError | None = None,
    last: UUID | None = None,
    typed: QueryDict | None = None,
) -> HttpResponse:
    """The page (or its fragment) for a slot; where ``refusal`` is given, with the typed words.

    ``typed`` are other fields to show instead; ``last`` is the slot judged before, to which a way
    back is shown.
    """
    shown = _shown(study, slot_id, request.user) if slot_id else None
    last = last if study.edit_hours else None
    context: dict[str, Any] = {"study": study, "shown": shown, "refusal": refusal, "last": last}
    if shown:
        proposed = present.proposed(shown, present.proposals(shown, request.user))
        if typed is None:
            typed = request.POST if refusal else present.fields(shown.draft or proposed)
        context |= {"typed": typed, "proposed": bool(proposed), **present.form(shown, typed)}
    else:
        participation = (
            Participation.objects.filter(study=study, annotator=request.user).first()
            or Participation()
        )
        context |= {
            "done": participation.done,
            "stopped": participation.stopped_at and participation.stop_reason,
            "asks": owner_queries.asked_for(study),
            "sets": study.status == Study.Status.OPEN and queue.open_sets(study, request.user),
            "completion": request.user.worker
            and crowd.completion(request.user, study, participation.done, nothing_left=True),
        }
    return whole_or_part(request, "judging/judge.html", "judge", context)


def _shown(study: Study, slot_id: UUID, annotator: User) -> present.Shown:
    """The slot as shown; a participant with a quota has no more in all than that."""
    shown = present.with_companions(present.show(slot_id, annotator), study, annotator)
    entry = crowd.entry_of(annotator, study)
    if entry and entry.source.quota is not None:
        shown = replace(shown, in_all=min(shown.in_all, max(entry.source.quota, shown.done)))
    return shown


def _refused(request: UserRequest, study: Study, refusal: DomainError) -> HttpResponse:
    """The item is no longer this person's: show why, and return what they typed."""
    context = {"study": study, "refusal": refusal, "typed": _words(request.POST)}
    status = 409 if request.htmx else refusal.status
    return whole_or_part(request, "judging/refused.html", "refused", context, status)


def _words(data: QueryDict) -> str:
    """Whatever a person wrote in a form, to give it back to them."""
    texts = [(name, str(data[name]).strip()) for name in data]
    # Beside words a form sends ids, classes and points.
    written = (text for name, text in texts
               if name == "reason" or (name.startswith("answer-") and " " in text))  # fmt: skip
    return "\n\n".join(filter(None, written))


def _task(study: Study, value: str | None) -> TaskDefinition:
    number = int(value) if value and re.fullmatch(r"[0-9]{1,18}", value) else 0
    return get_object_or_404(TaskDefinition, pk=number, study=study)


def _go(request: UserRequest, url: str) -> HttpResponse:
    """Redirect the whole page, also when htmx asked."""
    return HttpResponse(headers={"HX-Redirect": url}) if request.htmx else redirect(url)


def _slot_id(data: QueryDict) -> UUID:
    return uuid_or_not_found(data.get("slot"), _("You do not hold this item."))


def sessions_beside(study: Study, query_id: int | None, judge: User) -> list:
    """Transcripts for ``judge``, redacted: of their own history what is nearest to the question.

    Somebody else sees the sessions that the query grew out of, where its owner agreed that judges
    of this study do.
    """
    queries = Query.objects.filter(pk__in=[query_id] if query_id else [])
    query = queries.select_related("owner").first()
    if query is None or query.owner is None:
        return []
    allowed = browse.sessions(query.owner, study)
    if query.owner == judge:
        grounds = list(query.grounds.values_list("session", flat=True))
        hits = search.find(judge, query.text, BESIDE_LIMIT, only=allowed)
        wanted = dict.fromkeys([*grounds, *hits])
        order = {session: place for place, session in enumerate(wanted)}
        transcripts = browse.transcripts(allowed.filter(pk__in=order))
        return sorted(transcripts, key=lambda transcript: order[transcript.session])
    if not consent.allows(query.owner, study, HistoryConsent.Purpose.SHOW):
        return []
    return list(browse.transcripts(allowed.filter(grounds__query=query)))
