"""The review of what models wrote over HTTP: what waits, decisions and their undo, the rules."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.base import StudyView, read
from annotation.api.serializers import Share
from annotation.candidates import results, review
from annotation.candidates.forms import FIELDS
from annotation.candidates.models import Budget
from annotation.core.errors import NotFound
from annotation.studies.access import study_for
from annotation.studies.models import Study

ANSWERS = review.ANSWER
PAGE = 100
KINDS = [*FIELDS, ANSWERS]
MOST_TOKENS = 2**63 - 1


class ReviewedBody(serializers.Serializer):
    kind = serializers.ChoiceField(choices=KINDS)
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=review.MOST_AT_ONCE
    )


class DecisionBody(ReviewedBody):
    accepts = serializers.BooleanField()
    reason = serializers.CharField(default="", allow_blank=True, max_length=40)


class Limit(serializers.DecimalField):
    """An amount in the currency of the endpoints' prices; null is no limit."""

    def __init__(self) -> None:
        super().__init__(
            max_digits=12, decimal_places=4, min_value=0, allow_null=True, required=False
        )


class TokenLimit(serializers.IntegerField):
    """A number of tokens; null is no limit."""

    def __init__(self) -> None:
        super().__init__(min_value=0, max_value=MOST_TOKENS, allow_null=True, required=False)


class BudgetBody(serializers.Serializer):
    """What a study's models may cost, altogether and a day (UTC)."""

    cost = Limit()
    daily_cost = Limit()
    tokens = TokenLimit()
    daily_tokens = TokenLimit()


class RulesBody(serializers.Serializer):
    """How a study reviews what models write."""

    reviewers = serializers.IntegerField(min_value=1, max_value=2, required=False)
    review_answers = serializers.BooleanField(required=False)
    similarity = Share(min_value=0.3, required=False)
    length_tolerance = Share(required=False)


class GenerationRulesBody(serializers.Serializer):
    """A study's budget and its rules of review; what is left out stays as it is."""

    budget = BudgetBody(required=False)
    rules = RulesBody(required=False)


class Review(StudyView):
    parameters = ("kind",)

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="review_list")
    def get(self, request: Request, slug: str) -> Response:
        """What waits for you: ``?kind=`` a step, or answer; without it the counts of each."""
        study = study_for(request.user, slug, policies.generation.may_run)
        kind = request.query_params.get("kind")
        if kind is None:
            rows = [{**row, "label": str(row["label"])} for row in review.counts(study)]
            return Response({"kinds": rows})
        if kind not in KINDS:
            raise NotFound(f"There is no kind “{kind[:40]}” to review.")
        waiting = review.waiting(study, kind, request.user)[:PAGE]
        shown = [{"id": row.pk, "text": row.text, "flags": row.flags} for row in waiting]
        return Response({"rows": shown, "reasons": list(review.reasons_of(kind))})

    @extend_schema(request=DecisionBody, responses=OpenApiTypes.OBJECT, operation_id="review")
    def post(self, request: Request, slug: str) -> Response:
        """Accept or reject rows that wait for you."""
        study = study_for(request.user, slug, policies.generation.may_run)
        wanted = read(DecisionBody, request.data)
        kind, ids = wanted.pop("kind"), wanted.pop("ids")
        return Response({"decided": review.decide(study, kind, ids, by=request.user, **wanted)})


class ReviewUndo(StudyView):
    @extend_schema(request=ReviewedBody, responses=OpenApiTypes.OBJECT, operation_id="review_undo")
    def post(self, request: Request, slug: str) -> Response:
        """Take your decisions on these rows back, with what was made of them: all or none.

        409 where something made is in use already. Rows that you did not decide on stay.
        """
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response(
            {"undone": review.undo(study, **read(ReviewedBody, request.data), by=request.user)}
        )


class GenerationRules(StudyView):
    @extend_schema(responses=GenerationRulesBody, operation_id="generation_rules")
    def get(self, request: Request, slug: str) -> Response:
        """The study's budget, and how many reviewers decide on what."""
        return Response(_rules(study_for(request.user, slug, policies.generation.may_run)))

    @extend_schema(
        request=GenerationRulesBody,
        responses=GenerationRulesBody,
        operation_id="generation_rules_save",
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set what is named. A limit holds from the next call on."""
        study = study_for(request.user, slug, policies.generation.may_run)
        wanted = read(GenerationRulesBody, request.data)
        budget, rules = wanted.get("budget", {}), wanted.get("rules", {})
        review.set_rules(study, budget, rules, by=request.user)
        return Response(_rules(study))


def _rules(study: Study) -> dict:
    shown = {
        "budget": Budget.objects.filter(study=study).first() or Budget(study=study),
        "rules": results.rules_of(study),
    }
    return GenerationRulesBody(shown).data
