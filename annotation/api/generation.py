"""Generation over HTTP: plans, runs, budgets' spending, prompts."""

from typing import Any, cast

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.accounts.models import User
from annotation.api.base import StudyView, call, shown
from annotation.api.bodies import serializer_of
from annotation.candidates import calls, generate, review, wording
from annotation.candidates.models import Budget, Run
from annotation.candidates.steps import STEPS
from annotation.core.errors import DomainError, NotFound
from annotation.studies.models import Study

ANSWERS = review.ANSWER
PAGE = 100
STEP_NAMES = [*STEPS, ANSWERS]
# What became of a run's calls.
OF_RUN = (
    *("total", "requested", "running", "done", "failed", "cancelled"),
    *("actual", "failures"),
)


class GenerationBody(serializers.Serializer):
    step = serializers.ChoiceField(choices=STEP_NAMES)
    endpoint = serializers.CharField(default="", allow_blank=True, max_length=60)
    limit = serializers.IntegerField(min_value=1, max_value=1_000_000, required=False)
    dry_run = serializers.BooleanField(default=False)
    options = serializers.DictField(
        default=dict, help_text="Of the step; of answers: strategies, or rewrite and of."
    )


class RunBody(serializers.Serializer):
    do = serializers.ChoiceField(choices=["cancel", "resume"])


class Generation(StudyView):
    @call(policies.generation.may_run, name="generation_list")
    def get(self, request: Request, study: Study) -> Any:
        """The newest runs with what became of them, what was spent, and how many owners' queries
        have too few answers for a release: five examples and one to test on."""
        newest = list(study.runs.order_by("-pk")[:PAGE])
        counts = generate.progress_of_runs(newest)
        runs = [_run(run, counts[run.pk]) for run in newest]
        spent = calls.spent(study.pk)
        spent["cost"] = float(spent["cost"])
        few = generate.with_few_answers(study)
        return {"runs": runs, "spent": spent, "queries_with_few_answers": few}

    @call(policies.generation.may_run, takes=GenerationBody, status=202, key=True)
    def post(self, request: Request, study: Study, wanted: dict) -> Any:
        """Ask a model for proposals or answers; with ``dry_run`` only for the plan of it."""
        if wanted.pop("dry_run"):
            return Response(_planned(study, wanted))
        return _run(_request(study, wanted, request.user))


class OneRun(StudyView):
    @call(policies.generation.may_run, name="generation_run")
    def get(self, request: Request, study: Study, run: int) -> Any:
        """One run: calls, tokens, cost and seconds as ``planned`` and as they came (``actual``)."""
        return _run(get_object_or_404(Run, study=study, pk=run))

    @call(policies.generation.may_run, name="change_run", takes=RunBody)
    def post(self, request: Request, study: Study, wanted: dict, run: int) -> Any:
        """Cancel what is not written yet, or ask again for what was cancelled or failed."""
        row = get_object_or_404(Run, study=study, pk=run)
        change = {"cancel": generate.cancel_run, "resume": generate.resume_run}
        change[wanted["do"]](row, by=request.user)
        return _run(row)


class PromptBody(serializers.Serializer):
    system = serializers.CharField(allow_blank=True, max_length=wording.LIMIT)
    user = serializers.CharField(max_length=wording.LIMIT)


class Prompts(StudyView):
    @call(policies.generation.may_run, name="prompts_list")
    def get(self, request: Request, study: Study) -> Any:
        """The study's wording of every prompt, with the places that its texts may name."""
        return {"prompts": [_prompt(study, name) for name in wording.EDITABLE]}


class OnePrompt(StudyView):
    @call(policies.generation.may_run, name="prompt")
    def get(self, request: Request, study: Study, name: str) -> Any:
        """The study's wording of one prompt."""
        return _prompt(study, _prompt_name(name))

    @call(policies.generation.may_run, name="prompt_save", takes=PromptBody)
    def put(self, request: Request, study: Study, texts: dict, name: str) -> Any:
        """Make the next version; runs that were started keep theirs."""
        wording.save_prompt(study, _prompt_name(name), **texts, by=request.user)
        return _prompt(study, name)


def _prompt_name(name: str) -> str:
    if name not in wording.EDITABLE:
        raise NotFound(f"There is no prompt “{name[:40]}”.")
    return name


def _prompt(study: Study, name: str) -> dict:
    current, places = wording.of(study, name), wording.EDITABLE[name]
    fields = {"name": name, **shown(current, "id", "system", "user")}
    return fields | {"places": sorted(places.places), "needed": sorted(places.needed)}


def _planned(study: Study, wanted: dict) -> dict:
    with transaction.atomic():
        planned = dict(_request(study, wanted, None).planned)
        planned["queries_with_few_answers"] = generate.with_few_answers(study)
        transaction.set_rollback(True)
    return planned


def _request(study: Study, wanted: dict, by: User | None) -> Run:
    options, endpoint = wanted["options"], wanted["endpoint"]
    rest = {"endpoint": endpoint, "limit": wanted.get("limit"), "by": by}
    if wanted["step"] != ANSWERS:
        return generate.request_proposals(study, wanted["step"], options, **rest)
    if unknown := options.keys() - {"strategies", "rewrite", "of"}:
        raise DomainError(f"There is no option “{min(unknown)[:40]}” of answers.", code="option")
    how = options.get("rewrite")
    names = [str(how)] if how else _strategies(options)
    rows = generate.request_answers(
        study, strategies=names, of=str(options.get("of", "A1")), **rest
    )
    if not rows:
        raise DomainError("There is nothing new to ask for.", code="nothing")
    return cast("Run", rows[0].run)  # made a moment ago, in this transaction


def _strategies(options: dict) -> list[str]:
    names = options.get("strategies", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise DomainError("The option strategies is a list of names.", code="option")
    return names


def _run(run: Run, counts: dict | None = None) -> dict:
    counts = counts or generate.progress_of_run(run)
    became = {name: counts[name] for name in OF_RUN}
    became |= {name: counts["actual"][name] for name in ("tokens", "cost")}
    return shown(run, "id", "step", "endpoint", "created_at", "planned") | became


class ReviewedBody(serializers.Serializer):
    kind = serializers.ChoiceField(choices=STEP_NAMES)
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=review.MOST_AT_ONCE
    )


class DecisionBody(ReviewedBody):
    accepts = serializers.BooleanField()
    reason = serializers.CharField(default="", allow_blank=True, max_length=40)


class GenerationRulesBody(serializers.Serializer):
    """A study's budget and its rules of review; what is left out stays as it is."""

    budget = serializer_of(review.Limits, title="BudgetBody")(required=False)
    rules = serializer_of(review.ReviewRules, title="RulesBody")(required=False)


class Review(StudyView):
    @call(
        policies.generation.may_run,
        name="review_list",
        parameters=[OpenApiParameter("kind", str)],
    )
    def get(self, request: Request, study: Study) -> Any:
        """What waits for you: ``?kind=`` a step, or answer; without it the counts of each."""
        kind = request.query_params.get("kind")
        if kind is None:
            rows = [{**row, "label": str(row["label"])} for row in review.counts(study)]
            return {"kinds": rows}
        if kind not in STEP_NAMES:
            raise NotFound(f"There is no kind “{kind[:40]}” to review.")
        waiting = review.waiting(study, kind, request.user)[:PAGE]
        rows = [shown(row, "id", "text", "flags") for row in waiting]
        return {"rows": rows, "reasons": list(review.reasons_of(kind))}

    @call(policies.generation.may_run, name="review", takes=DecisionBody)
    def post(self, request: Request, study: Study, wanted: dict) -> Any:
        """Accept or reject rows that wait for you."""
        kind, ids = wanted.pop("kind"), wanted.pop("ids")
        return {"decided": review.decide(study, kind, ids, by=request.user, **wanted)}


class ReviewUndo(StudyView):
    @call(policies.generation.may_run, name="review_undo", takes=ReviewedBody)
    def post(self, request: Request, study: Study, wanted: dict) -> Any:
        """Take your decisions on these rows back, with what was made of them: all or none.

        409 where something made is in use already. Rows that you did not decide on stay.
        """
        return {"undone": review.undo(study, **wanted, by=request.user)}


class GenerationRules(StudyView):
    @call(policies.generation.may_run, name="generation_rules", answer=GenerationRulesBody)
    def get(self, request: Request, study: Study) -> Any:
        """The study's budget, and how many reviewers decide on what."""
        return _rules(study)

    @call(
        policies.generation.may_run,
        name="generation_rules_save",
        takes=GenerationRulesBody,
        answer=GenerationRulesBody,
        partial=True,
    )
    def put(self, request: Request, study: Study, wanted: dict) -> Any:
        """Set what is named. A limit holds from the next call on."""
        budget, rules = wanted.get("budget", {}), wanted.get("rules", {})
        review.set_rules(study, budget, rules, by=request.user)
        return _rules(study)


def _rules(study: Study) -> dict:
    budget = Budget.objects.filter(study=study).first() or Budget(study=study)
    return GenerationRulesBody({"budget": budget, "rules": review.rules_of(study)}).data
