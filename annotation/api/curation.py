"""Curation over HTTP: rounds 1 and 2 of personas, their split, checks and the end of votes."""

from typing import Any

from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.agreement.tiers import collection
from annotation.agreement.tiers.rules import STOPS
from annotation.api.base import StudyView, validated
from annotation.candidates import attributes, review
from annotation.core.errors import DomainError, NotFound
from annotation.core.schema import Number, serializer_of
from annotation.judging.curator import checks
from annotation.judging.models import Checks
from annotation.judging.work.hidden_checks import Rates
from annotation.personas import board, conversations, curate, splitting
from annotation.personas.balance import Tally
from annotation.personas.models import PairDecision, Persona
from annotation.studies.access import study_for
from annotation.studies.models import Study
from annotation.votes import counting

MOST = 1000
PAIRS, VALUES = 100, 50
SIDES = (*Persona.Split.values, "")


class PersonaId(serializers.CharField):
    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=100, **options)


class PersonaReviewBody(serializers.Serializer):
    ids = serializers.ListField(child=PersonaId(), min_length=1, max_length=MOST)
    reason = serializers.ChoiceField(
        choices=list(curate.REASONS),
        allow_null=True,
        help_text="Why they are dropped; null takes them back into the study.",
    )


class BoardBody(serializers.Serializer):
    similar = Number(
        required=False, min_value=0, max_value=1, help_text="The cosine from which pairs are shown."
    )


class PairBody(serializers.Serializer):
    personas = serializers.ListField(child=PersonaId(), min_length=2, max_length=2)
    drop = PersonaId(allow_null=True, help_text="One of the two; null keeps both.")


SplitBody = serializer_of(splitting.Split, title="SplitBody")
ChecksBody = serializer_of(Rates, title="ChecksBody")


class EarlyStopBody(serializers.Serializer):
    below = serializers.ChoiceField(choices=("", *STOPS), allow_blank=True)


class EarlyStopState(EarlyStopBody):
    """With how many ``items`` were stopped, and the votes ``saved``."""

    items = serializers.IntegerField()
    saved = serializers.IntegerField()


class PersonaReviews(StudyView):
    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="persona_reviews")
    def get(self, request: Request, slug: str) -> Response:
        """The reasons of both rounds, and how many personas were dropped for each."""
        study = study_for(request.user, slug, policies.persona.may_change)
        return Response({"kept": len(board.versions(study)), "dropped": curate.dropped(study)})

    @extend_schema(
        request=PersonaReviewBody, responses=OpenApiTypes.OBJECT, operation_id="review_personas"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Drop personas for a reason of round 1 or 2, or take them back: all of them or none."""
        study = study_for(request.user, slug, policies.persona.may_change)
        wanted = validated(PersonaReviewBody, request.data)
        with transaction.atomic():
            people = _personas(study, wanted["ids"])
            for person in people:
                if wanted["reason"] is None:
                    curate.restore(person, by=request.user)
                else:
                    curate.drop(person, wanted["reason"], by=request.user)
        return Response({"reviewed": len(people)})


class PersonaBoard(StudyView):
    parameters = ("similar",)

    @extend_schema(
        parameters=[BoardBody], responses=OpenApiTypes.OBJECT, operation_id="persona_board"
    )
    def get(self, request: Request, slug: str) -> Response:
        """Of whom the personas consist, and the pairs that are alike and wait for a decision."""
        study = study_for(request.user, slug, policies.persona.may_change)
        wanted = validated(BoardBody, request.query_params)
        similar = wanted.get("similar", review.similarity_of(None, study))
        people = board.versions(study)
        pairs = board.undecided(study, people, min(similar, board.THRESHOLDS[0]))
        shown = [_pair(pair) for pair in pairs if pair.similarity >= similar]
        funnel = review.persona_funnel(study)
        return Response(
            {
                "personas": len(people),
                "funnel": [{"step": str(words), "count": count} for words, count in funnel],
                "dimensions": [_dimension(values) for values in board.tallies(people)],
                "similar": similar,
                "pairs": shown[:PAIRS],
                "pairs_in_all": len(shown),
                "thresholds": [{"similar": at, "pairs": n} for at, n in board.preview(pairs)],
            }
        )


class PersonaPairs(StudyView):
    @extend_schema(request=PairBody, responses=OpenApiTypes.OBJECT, operation_id="decide_pair")
    def post(self, request: Request, slug: str) -> Response:
        """Keep both personas of a pair, or drop one of them; a pair is decided once."""
        study = study_for(request.user, slug, policies.persona.may_change)
        wanted = validated(PairBody, request.data)
        with transaction.atomic():
            first, second = _two(study, wanted["personas"])
            choices = {None: board.BOTH, first.external_id: board.FIRST}
            choice = choices.get(wanted["drop"], board.SECOND)
            if choice == board.SECOND and wanted["drop"] != second.external_id:
                raise DomainError("Only one of the two can be dropped.", code="choice")
            decision = board.decide(study, first.pk, second.pk, choice, by=request.user)
        return Response(_decision(decision), status=201)

    @extend_schema(request=None, responses=OpenApiTypes.OBJECT, operation_id="undo_pair")
    def delete(self, request: Request, slug: str) -> Response:
        """Take your last decision back, and a drop with it."""
        study = study_for(request.user, slug, policies.persona.may_change)
        return Response(_decision(board.undo(study, by=request.user)))


class PersonaSplit(StudyView):
    parameters = ("benchmark", "seed")

    @extend_schema(
        parameters=[SplitBody], responses=OpenApiTypes.OBJECT, operation_id="preview_split"
    )
    def get(self, request: Request, slug: str) -> Response:
        """How many personas are on each side; with ``benchmark`` who would be, by dimension."""
        study = study_for(request.user, slug, policies.persona.may_change)
        people = study.personas.filter(dropped_at=None)
        sides = {side or "none": people.filter(split=side).count() for side in SIDES}
        if not request.query_params:
            return Response({"sides": sides})
        proposal = splitting.propose(study, **validated(SplitBody, request.query_params))
        return Response({"sides": sides, "proposal": _proposal(proposal)})

    @extend_schema(request=SplitBody, responses=OpenApiTypes.OBJECT, operation_id="split_personas")
    def post(self, request: Request, slug: str) -> Response:
        """Divide the personas as the same call with GET proposes. Sides are for good."""
        study = study_for(request.user, slug, policies.persona.may_change)
        wanted = validated(SplitBody, request.data)
        return Response({"sides": splitting.make(study, **wanted, by=request.user)})


class ChecksOfStudy(StudyView):
    @extend_schema(responses=ChecksBody, operation_id="checks")
    def get(self, request: Request, slug: str) -> Response:
        """How often the study trains, checks, and lets owners judge their own items again."""
        study = study_for(request.user, slug, policies.check.may_change)
        return Response(ChecksBody(Checks.objects.filter(study=study).first() or Checks()).data)

    @extend_schema(request=ChecksBody, responses=ChecksBody, operation_id="checks_save")
    def put(self, request: Request, slug: str) -> Response:
        """Set it; hidden checks get new places for everybody."""
        study = study_for(request.user, slug, policies.check.may_change)
        rates = Rates(**validated(ChecksBody, request.data))
        return Response(ChecksBody(checks.set_rates(study, rates, by=request.user)).data)


class EarlyStopOfTask(StudyView):
    @extend_schema(responses=EarlyStopState, operation_id="early_stop")
    def get(self, request: Request, slug: str, task: str) -> Response:
        """Whether items that can no longer reach a tier get no more votes, and what it saved."""
        study = study_for(request.user, slug, policies.task.may_change)
        return Response(collection.stop_state(study, _with_tiers(study, task)))

    @extend_schema(request=EarlyStopBody, responses=EarlyStopState, operation_id="early_stop_save")
    def put(self, request: Request, slug: str, task: str) -> Response:
        """Stop items ``below`` "hard" or "borderline" from now on; "" stops no more."""
        study = study_for(request.user, slug, policies.task.may_change)
        name = _with_tiers(study, task)
        body = validated(EarlyStopBody, request.data)
        collection.choose_stop(study, name, **body, by=request.user)
        return Response(collection.stop_state(study, name))


def _with_tiers(study: Study, task: str) -> str:
    """The name of the study's task whose items have tiers; NotFound for any other."""
    if not counting.tiered(study, [task]):
        raise NotFound(f"There is no task “{task[:60]}” whose items have tiers.")
    return task


def _personas(study: Study, ids: list[str]) -> list[Persona]:
    """The personas of these ids, in their order; DomainError names one that is missing."""
    people = {person.external_id: person for person in study.personas.filter(external_id__in=ids)}
    if missing := [key for key in ids if key not in people]:
        raise DomainError(f"There is no persona “{missing[0]}” in the study.", code="persona")
    return [people[key] for key in dict.fromkeys(ids)]


def _two(study: Study, ids: list[str]) -> list[Persona]:
    """The personas of a pair in the order in which decisions are stored."""
    people = _personas(study, ids)
    if len(people) < 2:
        raise DomainError("A pair is two personas of the study.", code="pair")
    return sorted(people, key=lambda person: person.pk)


def _dimension(values: Tally) -> dict:
    rows = [
        {"value": value, "personas": count, "over_represented": value in values.over}
        for value, count in values.rows[:VALUES]
    ]
    return {"name": values.dimension.name, "values": rows, "distinct": len(values.rows)}


def _pair(pair: board.Pair) -> dict:
    ids = [version.persona.external_id for version in pair.sides]
    return {"personas": ids, "similarity": round(pair.similarity, 4)}


def _decision(decision: PairDecision) -> dict:
    dropped = decision.dropped and decision.dropped.external_id
    return {"personas": [str(decision.first), str(decision.second)], "dropped": dropped}


def _proposal(proposal: splitting.Proposal) -> dict:
    sides = {"benchmark": proposal.benchmark, "training": proposal.training}
    ids = {
        side: [version.persona.external_id for version in people] for side, people in sides.items()
    }
    names = ("value", "benchmark", "training")
    dimensions = {
        dimension.name: [dict(zip(names, row, strict=True)) for row in rows[:VALUES]]
        for dimension, rows in proposal.by_dimension()
    }
    return ids | {"dimensions": dimensions}


FiltersBody = serializer_of(conversations.Filters, title="FiltersBody")
ThresholdsBody = serializer_of(attributes.Thresholds, title="ThresholdsBody")


class VerifierBody(serializers.Serializer):
    model = serializers.FileField(help_text="The .npz file that `train verifier` wrote.")
    flagged = serializers.ChoiceField(
        choices=attributes.FLAGGED,
        default=attributes.DROP,
        help_text="What becomes of statements that it finds problematic.",
    )


class ConversationsOfStudy(StudyView):
    parameters = ("language", "conversations", "turns", "scripted", "people")

    @extend_schema(parameters=[FiltersBody], responses=OpenApiTypes.OBJECT, operation_id="funnel")
    def get(self, request: Request, slug: str) -> Response:
        """How many people and conversations of the study's pool each filter leaves."""
        study = study_for(request.user, slug, policies.generation.may_run)
        rows = conversations.funnel(study, _filters(request.query_params))
        names = ("filter", "people", "conversations")
        return Response({"funnel": [dict(zip(names, row, strict=True)) for row in rows]})

    @extend_schema(request=FiltersBody, responses=OpenApiTypes.OBJECT, operation_id="take_people")
    def post(self, request: Request, slug: str) -> Response:
        """Make personas of the people whom the filters leave."""
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response(conversations.take(study, _filters(request.data), by=request.user))


class AttributesMade(StudyView):
    parameters = ("confidence", "similarity")

    @extend_schema(
        parameters=[ThresholdsBody], responses=OpenApiTypes.OBJECT, operation_id="preview_clusters"
    )
    def get(self, request: Request, slug: str) -> Response:
        """What thresholds would make of the extracted statements."""
        study = study_for(request.user, slug, policies.generation.may_run)
        preview = attributes.preview(study, _thresholds(request.query_params))
        examples = [[row.wording for row in cluster.members] for cluster in preview["examples"]]
        counts = ("statements", "people", "sampled", "confident", "attributes")
        return Response({name: preview[name] for name in counts} | {"examples": examples})

    @extend_schema(
        request=ThresholdsBody, responses=OpenApiTypes.OBJECT, operation_id="make_attributes"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Make attributes of the extracted statements; what people judge already stays."""
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response(attributes.make(study, _thresholds(request.data), by=request.user))


class AttributesVerified(StudyView):
    parser_classes = [MultiPartParser]

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="unverified")
    def get(self, request: Request, slug: str) -> Response:
        """How many extracted statements nothing verified yet."""
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response({"statements": attributes.unverified(study).count()})

    @extend_schema(
        request={"multipart/form-data": VerifierBody},
        responses=OpenApiTypes.OBJECT,
        operation_id="verify_attributes",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let a trained verifier decide on the extracted statements that nothing verified yet."""
        study = study_for(request.user, slug, policies.generation.may_run)
        body = validated(VerifierBody, request.data)
        model, card = attributes.uploaded(body["model"])
        refine = body["flagged"] == attributes.REFINE
        return Response(attributes.verify(study, model, card, refine=refine, by=request.user))


def _filters(data: dict) -> conversations.Filters:
    return conversations.Filters(**validated(FiltersBody, data))


def _thresholds(data: dict) -> attributes.Thresholds:
    return attributes.Thresholds(**validated(ThresholdsBody, data))
