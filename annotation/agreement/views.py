"""The study's pages of results: progress, agreement of annotators, and results of the votes."""

from collections import Counter
from typing import Any, cast
from urllib.parse import urlencode
from uuid import UUID

import numpy as np
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotation import policies
from annotation.accounts.models import User
from annotation.accounts.requests import UserRequest
from annotation.agreement import scoring, wording
from annotation.agreement.board import CAP, Board
from annotation.agreement.figures import page, summary
from annotation.agreement.figures.base import Figure
from annotation.agreement.figures.progress import tier_rows
from annotation.agreement.figures.scores import rating_figures
from annotation.agreement.forms import PlanForm, RuleForm
from annotation.agreement.statistics import kappas, sample_size
from annotation.agreement.tiers import collection, easy_audit, rules
from annotation.agreement.wording import translated
from annotation.core import downloads, refusals
from annotation.core.jobs import worker_alive
from annotation.core.pages import page_of, whole_or_part
from annotation.judging.annotator import overview
from annotation.judging.curator.adjudication import rulings
from annotation.judging.kinds import Answer, config_of_task, kind_of
from annotation.judging.models import Handback, Item, ItemQuerySet, Judgment, Slot
from annotation.judging.work import comments
from annotation.studies.access import member_of, study_for
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.counting import AUDIT_TASK
from annotation.votes.stored import task_votes

PAGE = 25


@require_safe
def study(request: UserRequest, slug: str) -> HttpResponse:
    """The overview; htmx fetches its live part alone."""
    study = study_for(request.user, slug, policies.result.may_read)
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


@require_safe
def results(request: UserRequest, slug: str, task: str) -> HttpResponse:
    """Every figure of one task, and its disputed items; one figure as CSV on request.

    htmx asks with the number of votes and the recomputation that the page shows, and gets the
    figures again where there are newer ones.
    """
    study = study_for(request.user, slug, policies.result.may_read)
    board = _board(study, task)
    if request.GET.get("format") == "csv":
        key = request.GET.get("chart", "")
        return _download(_figure_of(study, board, key), study, task)
    digest = board.result.digest if board.result else ""
    seen = request.GET.get("votes"), request.GET.get("of")
    if request.htmx and seen == (str(board.totals["votes"]), digest):
        return HttpResponse(status=204)
    context = _figures_context(study, board) | _disputed_context(request, study, board, digest)
    return whole_or_part(request, "agreement/results.html", "live", context)


def _figures_context(study: Study, board: Board) -> dict[str, Any]:
    return {
        "study": study,
        "task": board.task,
        "board": board,
        "rule": ((board.result and board.result.tiers) or {}).get("rule", rules.DEFAULT.as_json()),
        "figures": [page.figure_of(board, key) for key in page.names(board)],
        "headline": summary.headline(board),
        "has_scores": board.kind.chooses and scoring.any_scores(study),
        "capped": CAP if board.kind.chooses and board.last is not None else None,
        "formulas": wording.of_levels(board.levels) if board.measures else None,
        "interval": wording.INTERVAL,
        "drawn_intervals": wording.DRAWN_INTERVALS,
        "tier_rule": wording.TIER_RULE if board.has_tiers else None,
        "keys": scoring.compared(study, board.task),
    }


def _disputed_context(
    request: UserRequest, study: Study, board: Board, digest: str
) -> dict[str, Any]:
    """Disputed items or those of a tier, and what can be done about the votes of items."""
    tier, number, rows = request.GET.get("tier", ""), request.GET.get("page"), None
    tier = tier if board.has_tiers and tier in rules.TIERS else ""
    if tier:
        rows = page_of(cast(Any, board.disputed(tier)), PAGE, number)
    elif board.measures:
        rows = Paginator(cast(Any, board.disputed()), PAGE).get_page(number)
    member = member_of(request.user, study)
    tops_up = tier == "borderline" and policies.batch.may_change(member)
    stops = board.has_tiers and policies.task.may_change(member)
    shown = {"votes": board.totals["votes"], "of": digest, "page": rows.number if rows else ""}
    return {
        "tier": tier,
        "reserve": collection.reserve(study, board.task).count() if tops_up else 0,
        "top_up": rules.DEFAULT.top_up,
        "early": collection.stop_state(study, board.task) if stops else None,
        "address": reverse("results", args=[study.slug, board.task]),
        "shown": urlencode(shown | ({"tier": tier} if tier else {})),
        "page": rows,
        "disputed": board.lines(rows or ()),
    }


@require_safe
def figure(request: UserRequest, slug: str, task: str, name: str, ending: str) -> HttpResponse:
    """One figure as a file for a paper, with a caption that states method and n."""
    study = study_for(request.user, slug, policies.result.may_read)
    board = _board(study, task)
    drawn = _figure_of(study, board, name)
    if drawn is None or ending not in downloads.CHART_TYPES:
        raise Http404
    if ending == "csv":
        return _download(drawn, study, task, caption=True)
    if not drawn.svg:
        raise Http404
    caption = f"{drawn.caption} {study.title}, {task}."
    return downloads.picture(f"{slug}-{task}-{name}.{ending}", drawn.svg, caption)


def _figure_of(study: Study, board: Board, name: str) -> Figure | None:
    """A figure of the task's page or of its scores; None where there is none of this name."""
    if name in page.names(board):
        return page.figure_of(board, name)
    if not board.kind.chooses:
        return None
    figures = rating_figures(scoring.rated(study, board.task))
    return next((figure for figure in figures if figure.key == name), None)


@require_POST
def top_up(request: UserRequest, slug: str, task: str) -> HttpResponse:
    """Ask more people about every borderline item of the task."""
    study = study_for(request.user, slug, policies.batch.may_change)
    _definition(study, task)
    with refusals.as_message(request):
        n = collection.top_up(study, task, by=request.user)
        words = ngettext(
            "More people are asked about %(n)d item.", "More people are asked about %(n)d items.", n
        )
        messages.success(request, words % {"n": n})
    return redirect(reverse("results", args=[slug, task]) + "?tier=borderline#disputed")


@require_POST
def stop_early(request: UserRequest, slug: str, task: str) -> HttpResponse:
    """Choose whether items that can no longer reach a tier get no more votes."""
    study = study_for(request.user, slug, policies.task.may_change)
    _definition(study, task)
    with refusals.as_message(request):
        collection.choose_stop(study, task, request.POST.get("below", ""), by=request.user)
        messages.success(request, _("Saved."))
    return redirect("results", slug, task)


@require_safe
def ratings(request: UserRequest, slug: str, task: str) -> HttpResponse:
    """Scores of answers against the choices of a task; one figure as CSV, or all as JSON."""
    study = study_for(request.user, slug, policies.result.may_read)
    rated = scoring.rated(study, _definition(study, task).name)
    if request.GET.get("format") == "json":
        return JsonResponse({"study": slug, "task": task, **rated.as_json()})
    figures = rating_figures(rated)
    if request.GET.get("format") == "csv":
        wanted = (figure for figure in figures if figure.key == request.GET.get("chart"))
        return _download(next(wanted, None), study, task)
    context = {
        "study": study,
        "task": task,
        "figures": figures,
        "address": reverse("ratings", args=[slug, task]),
    }
    return render(request, "agreement/ratings.html", context)


@require_safe
def audit(request: UserRequest, slug: str) -> HttpResponse:
    """The audit of the easy tier: which pairs are drawn, their votes, and the verdict."""
    study = study_for(request.user, slug, policies.result.may_read)
    seen = easy_audit.audit_of(study)
    context = {
        "study": study,
        "audit": seen,
        "page": Paginator(seen.drawn, PAGE).get_page(request.GET.get("page")),
        "task": AUDIT_TASK,
        "overlap": rules.DEFAULT.panel,
        "manages": policies.batch.may_change(member_of(request.user, study)),
        "votes": sum(pair.truth + pair.against for pair in seen.drawn),
        "complete": sum(pair.complete for pair in seen.drawn),
    }
    return render(request, "agreement/audit.html", context)


@require_POST
def open_audit(request: UserRequest, slug: str) -> HttpResponse:
    """Draw the pairs that the audit still wants and open them."""
    study = study_for(request.user, slug, policies.batch.may_change)
    with refusals.as_message(request):
        drawn = easy_audit.open_audit(study, by=request.user)
        words = ngettext("%(n)d pair is drawn and open.", "%(n)d pairs are drawn and open.", drawn)
        messages.success(request, words % {"n": drawn})
    return redirect("audit", slug)


@require_safe
def item(request: UserRequest, slug: str, task: str, pk: UUID) -> HttpResponse:
    """One item with its votes, rulings, comments and handbacks."""
    study = study_for(request.user, slug, policies.result.may_read)
    # What only its owner judges is shown to nobody else.
    items = cast(ItemQuerySet, _board(study, task).items).shared()
    beside = ("batch__task", "query", "attribute", "gold", "tier", "persona_version__persona")
    item = get_object_or_404(items.select_related(*beside), pk=pk)
    votes = _votes(study, item)
    context = {
        "study": study,
        "task": task,
        "kind": kind_of(item.batch.task.kind),
        "has_tiers": counting.has_tiers(item.batch.task),
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
    answers = kind_of(item.batch.task.kind).answers([row.pk for row in rows])
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
        "reasons": [*filter(None, [judgment.reason]), *kind.remarks(answer, config)],
        "remarks": [*judgment.chips, *judgment.flags],
    }


def _options(item: Item, votes: list[dict]) -> list[dict]:
    """The item's answers in canonical order, each with how many chose it."""
    counts = Counter(row["number"] for row in votes)
    options = item.options.select_related("candidate").order_by("number")
    return [{"option": row, "votes": counts[row.number]} for row in options]


def _handbacks(study: Study, item: Item) -> list[tuple]:
    """(annotator, the handback) of everybody who gave the item back, in order of time."""
    rows = Handback.objects.filter(item=item).exclude(cause=Handback.Cause.EXPIRED)
    rows = rows.exclude(annotator__in=counting.withdrawn_from(study))
    return [
        (counting.worker_name(row.annotator_id, row.annotator.worker), row)
        for row in rows.select_related("annotator").order_by("at", "pk")
    ]


def _threads(study: Study, item: Item) -> list[tuple]:
    """(annotator, slot, comments and answers) of each thread on the item, in order of time."""
    slots = comments.judged(study).filter(item=item)
    slots = slots.exclude(annotator__in=counting.withdrawn_from(study)).select_related("annotator")
    people = {slot.pk: cast(User, slot.annotator) for slot in slots}
    workers = {slot: counting.worker_name(who.pk, who.worker) for slot, who in people.items()}
    by_slot = comments.threads(workers).items()
    return [(workers[slot], slot, thread) for slot, thread in by_slot]


@require_safe
def rule(request: UserRequest, slug: str, task: str) -> HttpResponse:
    """What another tier rule would change; nothing is stored."""
    study = study_for(request.user, slug, policies.result.may_read)
    definition = _definition(study, task)
    votes = counting.voted_tasks(study).get(task)
    form = RuleForm(request.GET if "panel" in request.GET else None)
    context = {"study": study, "task": task, "form": form, "votes": votes}
    if votes and form.is_valid():
        last = counting.last_position(study, task, CAP)
        measure = counting.counted_measure(definition)
        read = task_votes(definition, measure.name if measure else "", last=last)
        seen = rules.preview_rule(
            read.votes,
            len(read.declared),
            rules.DEFAULT,
            form.rule,
            collecting=collection.collecting(study, task),
            topped=collection.topped(study, task),
        )
        context |= {"preview": seen, "sizes": _sizes(seen), "items": len(read.votes.tasks)}
        context["capped"] = CAP if last is not None else None
    status = 400 if form.errors else 200
    return render(request, "agreement/rule.html", context, status=status)


@require_safe
def planner(request: UserRequest, slug: str) -> HttpResponse:
    """How many items, judgments and hours an interval of a wanted width takes."""
    study = study_for(request.user, slug, policies.result.may_read)
    # A link names the pilot alone: the rest is still to be filled in.
    asked = request.GET if "goal" in request.GET else None
    initial = {"pilot": request.GET.get("pilot")}
    form = PlanForm(asked, initial=initial, tasks=counting.voted_tasks(study))
    context = {"study": study, "form": form}
    if form.is_valid():
        pilot = form.cleaned_data["pilot"]
        board = Board(study, _definition(study, pilot)) if pilot else None
        try:
            context["plan"] = _plan(form.cleaned_data, board)
        except ValueError as error:
            form.add_error(None, translated(str(error)))
    status = 400 if form.errors else 200
    return render(request, "agreement/planner.html", context, status=status)


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
    if kind_of(newest.kind).chooses:
        return Board(study, newest)
    # A version on another scale that nobody has judged yet shows nothing.
    judged = [*counting.newest(study, [task]), *counting.newest_judged(study, task), newest]
    return Board(study, judged[0])


def _definition(study: Study, task: str) -> TaskDefinition:
    """The task of this name whose items get tiers; 404 where there is none."""
    definitions = counting.newest(study, [task])
    if not definitions:
        raise Http404
    return definitions[0]


def _download(
    figure: Figure | None, study: Study, task: str, *, caption: bool = False
) -> HttpResponse:
    if figure is None:
        raise Http404
    head = [[f"# {figure.caption} {study.title}, {task}."]] if caption else []
    rows = [*head, figure.header or (figure.reason,), *figure.rows]
    return downloads.csv_response(f"{study.slug}-{task}-{figure.key}.csv", rows)


def _sizes(seen: dict) -> list[tuple]:
    unchecked = {"in_band": None, "new_panel_in_band": None, "note": ""}
    now, then = (seen[side]["tiers"] for side in ("current", "other"))
    return [(name, now[name], unchecked | then[name]) for name in now]
