"""The study's pages of results: how far it is, how well people agree, what the votes say."""

import csv
from collections import Counter

from django.core.paginator import Paginator
from django.db.models import Count, F, Q, Sum
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from annotation.agreement import formulas, planning, reading, tiers
from annotation.agreement.dashboard import CAP, FIGURES, Board, tier_rows
from annotation.agreement.forms import PlanForm, RuleForm
from annotation.core.cells import disarmed
from annotation.core.heartbeat import worker_alive
from annotation.judging.models import Handback, Slot
from annotation.studies.access import READERS, study_for

PAGE = 25


@require_safe
def study(request, slug):
    """The overview; htmx fetches its live part alone."""
    found = study_for(request.user, slug, READERS)
    context = {
        "study": found,
        "progress": found.items.aggregate(
            items=Count("pk"),
            complete=Count("pk", filter=Q(done=F("overlap"))),
            done=Sum("done", default=0),
            wanted=Sum("overlap", default=0),
        ),
        "held": Slot.objects.filter(study=found, status="held").count(),
        "results": [
            (result, tier_rows(result)) for result in found.agreement_results.order_by("task")
        ],
        "worker_alive": worker_alive(),
    }
    template = "agreement/study.html#live" if request.htmx else "agreement/study.html"
    return render(request, template, context)


@require_safe
def results(request, slug, task):
    """Every figure of one task, and its disputed items; one figure as CSV on request.

    htmx asks with the number of votes that the page shows, and gets the figures anew where there
    are more by now.
    """
    found = study_for(request.user, slug, READERS)
    board = Board(found, _definition(found, task))
    if request.GET.get("format") == "csv":
        return _download(board, request.GET.get("chart", ""))
    if request.htmx and request.GET.get("votes") == str(board.totals["votes"]):
        return HttpResponse(status=204)
    page = Paginator(board.disputed(), PAGE).get_page(request.GET.get("page"))
    context = {
        "study": found,
        "board": board,
        "figures": [board.figure(key) for key in FIGURES],
        "capped": CAP if board.last is not None else None,
        "page": page,
        "disputed": [(item, board.votes_of(item)) for item in page],
        "result": found.agreement_results.filter(task=task).first(),
        "formulas": formulas.FORMULAS,
        "interval": formulas.INTERVAL,
        "tier_rule": formulas.TIER_RULE,
    }
    part = "#live" if request.htmx else ""
    response = render(request, f"agreement/results.html{part}", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_safe
def item(request, slug, task, pk):
    """One item with all that was said about it."""
    found = study_for(request.user, slug, READERS)
    board = Board(found, _definition(found, task))
    one = get_object_or_404(
        board.items.select_related("query", "tier", "persona_version__persona"), pk=pk
    )
    votes = reading.selections(found, task).filter(slot__item=one)
    votes = votes.select_related("annotator", "choice").order_by("submitted_at", "pk")
    back = Handback.objects.filter(item=one).exclude(cause=Handback.Cause.EXPIRED)
    context = {
        "study": found,
        "task": task,
        "item": one,
        "options": _options(one, votes),
        "votes": [_vote(vote) for vote in votes],
        "handbacks": [
            (reading.worker_name(one.annotator_id, one.annotator.worker), one)
            for one in back.select_related("annotator").order_by("at", "pk")
        ],
    }
    return render(request, "agreement/item.html", context)


@require_safe
def rule(request, slug, task):
    """What another tier rule would change; nothing is stored."""
    found = study_for(request.user, slug, READERS)
    definition = _definition(found, task)
    votes = reading.voted_tasks(found).get(task)
    form = RuleForm(request.GET if "panel" in request.GET else None)
    context = {"study": found, "task": task, "form": form, "votes": votes}
    if votes and form.is_valid():
        last = reading.last_position(found, task, CAP)
        known = reading.read(found, definition, last)
        seen = tiers.preview(
            known.votes,
            len(known.declared),
            tiers.DEFAULT,
            form.rule,
            collecting=reading.collecting(found, task),
        )
        context |= {"preview": seen, "sizes": _sizes(seen), "items": len(known.votes.tasks)}
        context["capped"] = CAP if last is not None else None
    status = 400 if form.errors else 200
    return render(request, "agreement/rule.html", context, status=status)


@require_safe
def planner(request, slug):
    """How many items, judgments and hours an interval of a wanted width takes."""
    found = study_for(request.user, slug, READERS)
    # A link names the pilot alone: the rest is still to be filled in.
    asked = request.GET if "goal" in request.GET else None
    initial = {"pilot": request.GET.get("pilot")}
    form = PlanForm(asked, initial=initial, tasks=reading.voted_tasks(found))
    context = {"study": found, "form": form}
    if form.is_valid():
        pilot = form.cleaned_data["pilot"]
        board = Board(found, _definition(found, pilot)) if pilot else None
        try:
            context["plan"] = planning.plan(form.cleaned_data, board)
        except ValueError as error:
            form.add_error(None, str(error))
    status = 400 if form.errors else 200
    return render(request, "agreement/planner.html", context, status=status)


def _definition(study, task):
    # The figures below are of choices; another kind of answer has its own.
    tasks = study.tasks.filter(name=task, kind="selection").select_related("study")
    definition = tasks.order_by("-version").first()
    if definition is None:
        raise Http404
    return definition


def _download(board, key) -> HttpResponse:
    if key not in FIGURES:
        raise Http404
    figure = board.figure(key)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    name = f"{board.study.slug}-{board.task}-{key}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    writer = csv.writer(response)
    writer.writerow(figure.header or (figure.reason,))
    writer.writerows([_cell(value) for value in row] for row in figure.rows)
    return response


def _cell(value):
    return disarmed(value) if isinstance(value, str) else value


def _options(item, votes) -> list[dict]:
    counts = Counter(vote.choice_id for vote in votes)
    options = item.options.select_related("candidate").order_by("number")
    return [{"option": one, "votes": counts[one.pk]} for one in options]


def _vote(vote) -> dict:
    number = vote.choice.number if vote.choice else None
    return {
        "vote": vote,
        "worker": reading.worker_name(vote.annotator_id, vote.annotator.worker),
        "number": number,
        "place": vote.shown.index(number) + 1 if number in vote.shown else None,
    }


def _sizes(seen) -> list[tuple]:
    unchecked = {"in_band": None, "new_panel_in_band": None, "note": ""}
    now, then = (seen[side]["tiers"] for side in ("current", "other"))
    return [(name, now[name], unchecked | then[name]) for name in now]
