"""The study's pages of results: progress, agreement of annotators, and results of the votes."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

import numpy as np
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet, prefetch_related_objects
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.agreement import raters as records
from annotation.agreement import scoring, wording
from annotation.agreement.board import CAP, Board
from annotation.agreement.figures import figure_names, figure_of
from annotation.agreement.forms import PlanForm
from annotation.agreement.scoring import rating_figures
from annotation.agreement.statistics import kappas, sample_size
from annotation.agreement.statistics.tiers import DEFAULT, TIERS
from annotation.agreement.summary import Figure, tier_rows
from annotation.agreement.tiers import collection
from annotation.agreement.wording import translated
from annotation.core import downloads, refusals, text
from annotation.core.errors import DomainError, NotFound, uuid_or_not_found
from annotation.core.jobs import worker_alive
from annotation.core.models import AuditEvent
from annotation.core.pages import done, page_of, show, whole_or_part
from annotation.core.words import titled
from annotation.judging.annotator import overview
from annotation.judging.curator.adjudication import rulings
from annotation.judging.kinds import Answer, answers_of, config_of_task, kind_of, label_words
from annotation.judging.models import (
    Batch,
    Handback,
    Item,
    ItemQuerySet,
    Judgment,
    Participation,
    Slot,
)
from annotation.judging.work import comments as threads
from annotation.judging.work import hidden_checks
from annotation.studies.access import member_of, study_page
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.counting import AUDIT_TASK

PAGE = 25
RATERS = 50
SHOWN = 50


@study_page(policies.result.may_read, "GET")
def study(request: UserRequest, study: Study) -> HttpResponse:
    """The overview; htmx fetches its live part alone."""
    context = {
        "study": study,
        "progress": counting.progress(study),
        "held": Slot.objects.filter(study=study, status="held").count(),
        "results": [
            (result, tier_rows(result))
            for result in study.agreement_results.defer("sums", "sample").order_by("task")
        ],
        "worker_alive": worker_alive(),
        "audit_task": AUDIT_TASK,
        "has_triples": any(
            kind_of(task.kind).chooses and task.config["options"] == 3 for task in study.tasks.all()
        ),
        "has_scores": scoring.any_scores(study),
    }
    return whole_or_part(request, "agreement/study.html", "live", context)


@study_page(policies.result.may_read, "GET")
def results(request: UserRequest, study: Study, task: str) -> HttpResponse:
    """Every figure of one task, and its disputed items.

    htmx asks with the number of votes and the recomputation that the page shows, and gets the
    figures again where there are newer ones.
    """
    board = _board(study, task)
    digest = board.result.digest if board.result else ""
    seen = request.GET.get("votes"), request.GET.get("of")
    if request.htmx and seen == (str(board.totals["votes"]), digest):
        return HttpResponse(status=204)
    context = _figures_context(study, board) | _disputed_context(request, study, board, digest)
    return whole_or_part(request, "agreement/results.html", "live", context)


def _figures_context(study: Study, board: Board) -> dict[str, Any]:
    has_pairs = board.tells_tiers and board.task != AUDIT_TASK
    return {
        "study": study,
        "task": board.task,
        "board": board,
        "rule": ((board.result and board.result.tiers) or {}).get("rule", DEFAULT.as_json()),
        "figures": [figure_of(board, key) for key in figure_names(board)],
        "tiers": tier_rows(board.result) if has_pairs and board.result else [],
        "has_scores": board.kind.chooses and scoring.any_scores(study),
        "capped": CAP if board.kind.chooses and board.last is not None else None,
        "formulas": wording.of_levels(board.levels) if board.measures else None,
        "interval": wording.INTERVAL,
        "drawn_intervals": wording.DRAWN_INTERVALS,
        "tier_rule": wording.TIER_RULE if board.tells_tiers else None,
        "keys": scoring.compared(study, board.task),
    }


def _disputed_context(
    request: UserRequest, study: Study, board: Board, digest: str
) -> dict[str, Any]:
    """Disputed items or those of a tier, and what can be done about the votes of items."""
    tier, number, rows = request.GET.get("tier", ""), request.GET.get("page"), None
    tier = tier if board.has_tiers and tier in TIERS else ""
    if tier:
        rows = page_of(cast(Any, board.disputed(tier)), PAGE, number)
    elif board.measures:
        rows = Paginator(cast(Any, board.disputed()), PAGE).get_page(number)
    member = member_of(request.user, study)
    tops_up = tier == "borderline" and policies.batch.may_change(member)
    stops = board.tells_tiers and policies.task.may_change(member)
    shown = {"votes": board.totals["votes"], "of": digest, "page": rows.number if rows else ""}
    return {
        "tier": tier,
        "reserve": collection.reserve(study, board.task).count() if tops_up else 0,
        "top_up": DEFAULT.top_up,
        "early": collection.stop_state(study, board.task) if stops else None,
        "address": reverse("results", args=[study.slug, board.task]),
        "shown": urlencode(shown | ({"tier": tier} if tier else {})),
        "page": rows,
        "disputed": board.lines(rows or ()),
    }


@study_page(policies.result.may_read, "GET")
def figure(request: UserRequest, study: Study, task: str, name: str, ending: str) -> HttpResponse:
    """One figure as a file for a paper, with a caption that states method and n."""
    board = _board(study, task)
    drawn = _figure_of(study, board, name)
    if drawn is None or ending not in downloads.CHART_TYPES:
        raise Http404
    file = f"{study.slug}-{task}-{name}.{ending}"
    caption = f"{drawn.caption} {study.title}, {titled(task)}."
    if ending == "csv":
        rows = [[f"# {caption}"], drawn.header or (drawn.reason,), *drawn.rows]
        return downloads.csv_response(file, rows)
    if not drawn.svg:
        raise Http404
    return downloads.picture(file, drawn.svg, caption)


def _figure_of(study: Study, board: Board, name: str) -> Figure | None:
    """A figure of the task's page or of its scores; None where there is none of this name."""
    if name in figure_names(board):
        return figure_of(board, name)
    if not board.kind.chooses:
        return None
    figures = rating_figures(scoring.rated(study, board.task))
    return next((figure for figure in figures if figure.key == name), None)


@study_page(policies.batch.may_change, "POST")
def top_up(request: UserRequest, study: Study, task: str) -> HttpResponse:
    """Ask more people about every borderline item of the task."""
    _tiered(study, task)
    with refusals.as_message(request):
        n = collection.top_up(study, task, by=request.user)
        words = ngettext(
            "More people are asked about %(n)d item.", "More people are asked about %(n)d items.", n
        )
        messages.success(request, words % {"n": n})
    return redirect(reverse("results", args=[study.slug, task]) + "?tier=borderline#disputed")


@study_page(policies.task.may_change, "POST")
def stop_early(request: UserRequest, study: Study, task: str) -> HttpResponse:
    """Choose whether items that can no longer reach a tier get no more votes."""
    _tiered(study, task)
    with refusals.as_message(request):
        collection.choose_stop(study, task, request.POST.get("below", ""), by=request.user)
        messages.success(request, _("Saved."))
    return redirect("results", study.slug, task)


@study_page(policies.result.may_read, "GET")
def ratings(request: UserRequest, study: Study, task: str) -> HttpResponse:
    """Scores of answers against the choices of a task."""
    figures = rating_figures(scoring.rated(study, _tiered(study, task).task))
    context = {"study": study, "task": task, "figures": figures}
    return render(request, "agreement/ratings.html", context)


@study_page(policies.result.may_read, "GET")
def audit(request: UserRequest, study: Study) -> HttpResponse:
    """The audit of the easy tier: which pairs are drawn, their votes, and the verdict."""
    seen = collection.audit_of(study)
    context = {
        "study": study,
        "audit": seen,
        "page": Paginator(seen.drawn, PAGE).get_page(request.GET.get("page")),
        "task": AUDIT_TASK,
        "overlap": DEFAULT.panel,
        "manages": policies.batch.may_change(member_of(request.user, study)),
        "votes": sum(pair.truth + pair.against for pair in seen.drawn),
        "complete": sum(pair.complete for pair in seen.drawn),
    }
    return render(request, "agreement/audit.html", context)


@study_page(policies.batch.may_change, "POST")
def open_audit(request: UserRequest, study: Study) -> HttpResponse:
    """Draw the pairs that the audit still wants and open them."""
    with refusals.as_message(request):
        drawn = collection.open_audit(study, by=request.user)
        words = ngettext("%(n)d pair is drawn and open.", "%(n)d pairs are drawn and open.", drawn)
        messages.success(request, words % {"n": drawn})
    return redirect("audit", study.slug)


@study_page(policies.result.may_read, "GET")
def item(request: UserRequest, study: Study, task: str, pk: UUID) -> HttpResponse:
    """One item with its votes, rulings, comments and handbacks."""
    # What only its owner judges is shown to nobody else.
    board = _board(study, task)
    items = cast(ItemQuerySet, board.items).shared()
    beside = ("batch__task", "query", "attribute", "gold", "tier", "persona_version__persona")
    item = get_object_or_404(items.select_related(*beside), pk=pk)
    votes = _votes(study, item)
    context = {
        "study": study,
        "task": task,
        "kind": kind_of(item.batch.task.kind),
        "board": board,
        "item": item,
        "options": _options(item, votes),
        "votes": votes,
        "rulings": rulings(item),
        "threads": _threads(study, item),
        "manages": policies.judgment.may_adjudicate(member_of(request.user, study)),
        "handbacks": _handbacks(study, item),
    }
    return render(request, "agreement/item.html", context)


def _votes(study: Study, item: Item) -> list[dict]:
    """The judgments that count, in order of time, in words."""
    judgments = counting.judgments(study).filter(slot__item=item)
    rows = list(judgments.select_related("annotator", "slot").order_by("submitted_at", "pk"))
    answers = answers_of({row.pk: item.batch.task.kind for row in rows})
    return [_vote(row, answers[row.pk], item.batch.task) for row in rows]


def _vote(judgment: Judgment, answer: Answer, task: TaskDefinition) -> dict:
    kind, config = kind_of(task.kind), config_of_task(task)
    choice = str(kind.choice(answer.label, config)) if kind.chooses else ""
    number = int(choice) if choice.isdigit() else None
    return {
        "vote": judgment,
        "worker": counting.worker_name(judgment.annotator_id, judgment.annotator.worker),
        "number": number,
        "place": overview.place_of(judgment, number) if number else None,
        "first": judgment.shown[0] if judgment.shown else None,
        "answers": kind.words(answer, config),
        "passages": [(row.option, each) for row in answer.rows for each in row.passages],
        "reasons": [*filter(None, [judgment.reason]), *kind.remarks(answer, config)],
        "remarks": [*judgment.chips, *judgment.flags],
    }


def _options(item: Item, votes: list[dict]) -> list[dict]:
    """The item's answers in canonical order, each with how many chose it, and its text with the
    passages that people ``marked``.
    """
    counts = Counter(row["number"] for row in votes)
    spans: dict[int, list] = defaultdict(list)
    for row in votes:
        for number, each in row["passages"]:
            spans[number].append((each.start, each.end, row["worker"]))
    options = item.options.select_related("candidate").order_by("number")
    return [
        {
            "option": row,
            "votes": counts[row.number],
            "marked": _marked(row.candidate.text, spans[row.number], len(votes)),
        }
        for row in options
    ]


def _marked(words: str, spans: list[tuple[int, int, str]], judged: int) -> str:
    """A text with who marked what in it, and how many of those who ``judged``; "" without marks."""
    pieces: list[tuple[str, ...]] = []
    for piece, names in text.covered(words, spans) if spans else ():
        people = list(dict.fromkeys(names))
        who = _("Marked by %(names)s") % {"names": ", ".join(people)} if people else ""
        pieces.append((piece, who, f"{len(people)}/{judged}"))
    return text.render_marked(pieces) if pieces else ""


def _handbacks(study: Study, item: Item) -> list[tuple]:
    """(annotator, the handback) of everybody who gave the item back, in order of time."""
    rows = Handback.objects.filter(item=item).exclude(cause=Handback.Cause.EXPIRED)
    rows = rows.exclude(annotator__in=counting.withdrawn_from(study)).order_by("at", "pk")
    return [
        (counting.worker_name(row.annotator_id, row.annotator.worker), row)
        for row in rows.select_related("annotator")
    ]


def _threads(study: Study, item: Item) -> list[tuple]:
    """(annotator, slot, comments and answers) of each thread on the item, in order of time."""
    slots = threads.judged(study).filter(item=item)
    slots = slots.exclude(annotator__in=counting.withdrawn_from(study)).select_related("annotator")
    people = {slot.pk: cast(User, slot.annotator) for slot in slots}
    workers = {slot: counting.worker_name(who.pk, who.worker) for slot, who in people.items()}
    by_slot = threads.threads(workers).items()
    return [(workers[slot], slot, thread) for slot, thread in by_slot]


@study_page(policies.result.may_read, "GET")
def planner(request: UserRequest, study: Study) -> HttpResponse:
    """How many items, judgments and hours an interval of a wanted width takes."""
    # A link names the pilot alone: the rest is still to be filled in.
    asked = request.GET if "goal" in request.GET else None
    initial = {"pilot": request.GET.get("pilot")}
    tasks = [each.name for each in counting.newest(study) if counting.has_tiers(each)]
    form = PlanForm(asked, initial=initial, tasks=tasks)
    context = {"study": study, "form": form}
    if form.is_valid():
        pilot = form.cleaned_data["pilot"]
        board = _tiered(study, pilot) if pilot else None
        try:
            context["plan"] = _plan(form.cleaned_data, board)
        except ValueError as error:
            form.add_error(None, translated(str(error)))
    return show(request, "agreement/planner.html", context)


def _plan(wanted: dict, board: Board | None) -> dict:
    """Items, judgments and hours for ``wanted``, the cleaned data of the form.

    ``board`` is the task whose votes are the pilot. The answer also says what was used: ``kappa``,
    ``spread`` (None for a win rate) and ``seconds``. Raises ValueError with a sentence where the
    pilot cannot say, or there are fewer annotators than votes an item.
    """
    inputs = _pilot(board, wanted) if board else {**wanted, "spread": None}
    votes, half = wanted["votes"], wanted["half_width"]
    if wanted["goal"] == "kappa":
        if inputs["spread"] is None:
            inputs["spread"] = sample_size.assumed_kappa_spread(
                inputs["kappa"], votes, inputs["options"]
            )
        items = sample_size.items_for_kappa(half, inputs["spread"])
    else:
        inputs["spread"] = None
        kappa = min(max(inputs["kappa"], 0.0), 1.0)
        items = sample_size.items_for_win_rate(half, votes, kappa, wanted["rate"] or 0.5)
    used = {name: inputs[name] for name in ("kappa", "spread", "seconds")}
    return used | sample_size.workload(items, votes, inputs["seconds"], wanted["raters"])


def _pilot(board: Board, wanted: dict) -> dict:
    """Kappa, its spread over items and the median time of the pilot's votes."""
    counts = np.array([votes for votes, _complete, _items in board.patterns])
    weight = np.array([items for _votes, _complete, items in board.patterns])
    patterns = kappas.Patterns(counts, weight)
    kappa, spread = kappas.symmetric_kappa(patterns), sample_size.kappa_spread(patterns)
    if kappa.value is None or spread is None:
        raise ValueError(_("The pilot says nothing about kappa: two items need two votes each."))
    timed = board.rows.seconds[np.isfinite(board.rows.seconds)]
    seconds = float(np.median(timed)) if len(timed) else wanted["seconds"]
    if seconds is None:
        raise ValueError(_("The pilot's times are not known: say how long a judgment takes."))
    return {"kappa": kappa.value, "spread": spread, "seconds": seconds}


def _board(study: Study, task: str) -> Board:
    """The figures of a task of any kind; 404 where there is none of this name."""
    newest = study.tasks.filter(name=task).select_related("study").order_by("-version").first()
    if newest is None:
        raise Http404
    if not kind_of(newest.kind).chooses:
        # A version on another scale that nobody has judged yet shows nothing.
        newest = next(iter(counting.newest(study, task)), newest)
    return Board(study, newest)


def _tiered(study: Study, task: str) -> Board:
    """The figures of a task whose items get tiers; 404 where there is none of this name."""
    board = _board(study, task)
    if not board.has_tiers:
        raise Http404
    return board


@study_page(policies.rater.may_read, "GET")
def raters(request: UserRequest, study: Study) -> HttpResponse:
    """Everybody who annotates, those with signs first."""
    rows = records.raters(study)
    context = {
        "study": study,
        "page": Paginator(rows, RATERS).get_page(request.GET.get("page")),
        "cap": records.CAP if sum(rater.judgments for rater in rows) > records.CAP else None,
    }
    return render(request, "agreement/raters.html", context)


@study_page(policies.rater.may_read, "GET")
def rater(request: UserRequest, study: Study, user: int) -> HttpResponse:
    """One annotator: signs with their rules, answers to checks, skips, and what was done."""
    person = records.person(study, user)
    if person is None:
        raise Http404
    record = next(record for record in records.raters(study, also=person) if record.user == person)
    context = {
        "study": study,
        "rater": record,
        "manages": policies.rater.may_sanction(member_of(request.user, study)),
        # Who has neither a participation nor a membership has imported votes only.
        "works_here": record.participation.pk or study.memberships.filter(user=person).exists(),
        "gold": _answered(study, person, Batch.Purpose.GOLD),
        "training": _answered(study, person, Batch.Purpose.TRAINING),
        "repeats": _answered(study, person, Batch.Purpose.REPEAT),
        "last": _last(study, person),
        "skips": Handback.objects.filter(
            item__study=study, annotator=person, cause=Handback.Cause.SKIPPED
        )
        .select_related("item__batch__task", "item__query", "item__attribute")
        .order_by("-at")[:SHOWN],
        "record": _record(record.participation),
        "reading": _reading(study, person),
    }
    return render(request, "agreement/rater.html", context)


def _reading(study: Study, person: User) -> dict:
    """How many of the person's judgments on this page's form were given with all in view."""
    judgments = Judgment.objects.filter(
        slot__study=study, annotator=person, replaced_by=None, circumstances__has_key="card"
    )
    return judgments.aggregate(
        of=Count("pk"),
        card=Count("pk", filter=Q(circumstances__card=True)),
        ends=Count("pk", filter=Q(circumstances__ends=True)),
        reminded=Count("pk", filter=Q(circumstances__reminded=True)),
    )


def _answered(study: Study, person: User, purpose: str) -> list[dict]:
    """The person's answers to checks of one purpose, the last first."""
    outcomes = hidden_checks.outcomes(study, purpose, annotator=person)[::-1][:SHOWN]
    words = _words([outcome.judgment for outcome in outcomes])
    items = [outcome.item.repeats or outcome.item for outcome in outcomes]
    prefetch_related_objects(items, "query", "attribute")
    return [
        {
            "outcome": outcome,
            # Copies have generated names: the copied item is shown.
            "item": item,
            # An owner's own question is shown to nobody else.
            "private": outcome.item.batch.task.config.get("owner_only", False),
            "words": words[outcome.judgment.pk],
            "expected": label_words(outcome.item, outcome.expected),
        }
        for outcome, item in zip(outcomes, items, strict=True)
    ]


def _last(study: Study, person: User) -> list[dict]:
    """The person's last judgments of work."""
    newest = Judgment.objects.filter(
        slot__study=study,
        annotator=person,
        replaced_by=None,
        slot__item__batch__purpose=Batch.Purpose.WORK,
    )
    shown = ("slot__item__batch__task", "slot__item__query", "slot__item__attribute")
    rows = newest.select_related(*shown).order_by("-pk")[:SHOWN]
    words = _words(rows)
    return [
        {"judgment": row, "words": words[row.pk], "page": _page(study, row.slot.item)}
        for row in rows
    ]


def _page(study: Study, item: Item) -> str:
    """Where all votes on an item of work are; "" for checks, and for an owner's items, which are
    shown to nobody else.
    """
    task = item.batch.task
    if task.config.get("owner_only") or item.batch.purpose != Batch.Purpose.WORK:
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


def _record(participation: Participation) -> Iterable[AuditEvent]:
    """What was done about this person: the log's events of their participation."""
    if participation.pk is None:
        return []
    events = AuditEvent.objects.filter(target="participation", target_id=str(participation.pk))
    return events.order_by("-pk")[:SHOWN]


@study_page(policies.judgment.may_answer_comments, "GET", "POST")
def comments(request: UserRequest, study: Study) -> HttpResponse:
    """Threads on items, those that wait for an answer first; ``?slot=`` shows one of them."""
    refusal = None
    if request.method == "POST":
        try:
            slot = _uuid(request.POST.get("slot"))
            threads.answer(study, slot, request.user, request.POST.get("text", ""))
        except DomainError as error:
            refusal = error
        else:
            return done(request, _("The annotator can read your answer."), "comments", study.slug)
    slots = Paginator(_slots(study, request.GET.get("slot")), PAGE)
    page = slots.get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page": page,
        "rows": _rows(study, page),
        "refusal": refusal,
        "typed": request.POST,
    }
    return show(request, "agreement/comments.html", context)


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
    return [_row(study, slot, cast(User, slot.annotator), by_slot[slot.pk]) for slot in slots]


def _row(study: Study, slot: Slot, annotator: User, thread: list) -> dict:
    item, task = slot.item, slot.item.batch.task
    asked = item.query.asked if item.query else item.attribute and item.attribute.text
    if task.config.get("owner_only"):
        # An owner's own question is shown to nobody else, also not beside their comment on it.
        asked = ""
    return {
        "slot": str(slot.pk),
        "task": task.name,
        "worker": counting.worker_name(annotator.pk, annotator.worker),
        "question": asked or "",
        "page": _page(study, item),
        "thread": thread,
    }


def _uuid(value: str | None) -> UUID:
    return uuid_or_not_found(value, _("Nobody has judged this item."))
