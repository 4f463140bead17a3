"""An owner's queries and gold responses over HTTP: what the pages of their own queries do."""

from django.db import transaction
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.models import User
from annotation.api.base import KEY, StudyView, once, validated
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging.gold import claims
from annotation.queries import gold, owner_queries
from annotation.queries.models import GoldResponse, Query


class GuideBody(serializers.Serializer):
    """The need behind a question, part by part."""

    want = serializers.CharField(default="", allow_blank=True, max_length=owner_queries.NEED_LIMIT)
    known = serializers.CharField(default="", allow_blank=True, max_length=owner_queries.NEED_LIMIT)
    form = serializers.CharField(default="", allow_blank=True, max_length=owner_queries.NEED_LIMIT)
    annoy = serializers.CharField(default="", allow_blank=True, max_length=owner_queries.NEED_LIMIT)


class OwnQueryBody(serializers.Serializer):
    text = serializers.CharField(allow_blank=True, max_length=owner_queries.TEXT_LIMIT)
    guide = GuideBody(default=dict)
    scenario = serializers.CharField(default="", allow_blank=True, max_length=100)
    language = serializers.CharField(default="", allow_blank=True, max_length=20)
    grounds = serializers.ListField(
        child=serializers.UUIDField(),
        required=False,
        max_length=owner_queries.GROUNDS_LIMIT,
        help_text="Ids of sessions that you keep; left out, they stay as they are.",
    )
    finish = serializers.BooleanField(default=False, help_text="Whether it may be answered now.")


class GoldBody(serializers.Serializer):
    text = serializers.CharField(max_length=gold.TEXT_LIMIT, trim_whitespace=False)


class OwnClaimsBody(serializers.Serializer):
    endpoint = serializers.CharField(default="", allow_blank=True, max_length=60)
    claims = serializers.ListField(
        child=serializers.CharField(max_length=gold.CLAIM_LIMIT),
        default=list,
        max_length=gold.CLAIMS_LIMIT,
        help_text="Your own claims; without any, a model splits the gold response.",
    )
    again = serializers.BooleanField(
        default=False, help_text="Let a model split a response that has claims once more."
    )


class OwnRubricBody(serializers.Serializer):
    endpoint = serializers.CharField(default="", allow_blank=True, max_length=60)
    text = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=gold.TEXT_LIMIT,
        help_text="The rubric in your words; without it, a model writes one from your judgments.",
    )


class OwnQueries(StudyView):
    scope = "judge"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="own_queries_list")
    def get(self, request: Request, slug: str) -> Response:
        """Your current queries, newest first."""
        study = owner_queries.study_of(request.user, slug)
        queries = owner_queries.of(study, request.user).prefetch_related("grounds")
        return Response({"queries": [_query(query) for query in queries]})

    @extend_schema(parameters=[KEY], request=OwnQueryBody, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, slug: str) -> Response:
        """Write a new query; with ``finish`` it may be answered."""
        study = owner_queries.study_of(request.user, slug)
        wanted = validated(OwnQueryBody, request.data)

        @transaction.atomic
        def act() -> tuple[int, dict]:
            begun = owner_queries.begin(study, request.user)
            return 201, _query(_written(begun, request.user, wanted))

        return once(request, act)


class OwnQuery(StudyView):
    scope = "judge"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="own_query")
    def get(self, request: Request, slug: str, key: str) -> Response:
        """One of your queries."""
        return Response(_query(_owned(request, slug, key)))

    @extend_schema(request=OwnQueryBody, responses=OpenApiTypes.OBJECT)
    def put(self, request: Request, slug: str, key: str) -> Response:
        """Write your query anew; one that has answers gets a next version."""
        query, wanted = _owned(request, slug, key), validated(OwnQueryBody, request.data)
        with transaction.atomic():
            written = _written(owner_queries.change(query, request.user), request.user, wanted)
        return Response(_query(written))


class OwnGold(StudyView):
    scope = "judge"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="gold_list")
    def get(self, request: Request, slug: str, key: str) -> Response:
        """The versions of the gold response to your query, newest first."""
        versions = _owned(request, slug, key).gold_responses.order_by("-version")
        return Response({"versions": [_gold(response) for response in versions]})

    @extend_schema(request=GoldBody, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Save a gold response: the next version, where its text differs from the newest one."""
        query, body = _owned(request, slug, key), validated(GoldBody, request.data)
        judged = claims.scored(query, request.user)
        best = judged[0]["candidate"].pk if judged else None
        return Response(_gold(gold.save(query, request.user, body["text"], source=best)))


class OwnClaims(StudyView):
    scope = "judge"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="claims_list")
    def get(self, request: Request, slug: str, key: str) -> Response:
        """The claims of your newest gold response, and what you accepted as gold information."""
        return Response(_claims(_owned(request, slug, key), request.user))

    @extend_schema(request=OwnClaimsBody, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Have the newest gold response split into claims by a model, or write them yourself."""
        query, wanted = _owned(request, slug, key), validated(OwnClaimsBody, request.data)
        response = gold.newest(query)
        if response is None:
            raise DomainError("Save a gold response first.", code="gold")
        if wanted["claims"]:
            claims.write_by_hand(response, request.user, "\n".join(wanted["claims"]))
            return Response(_claims(query, request.user), status=201)
        if wanted["again"]:
            claims.split_again(response, request.user, endpoint=wanted["endpoint"])
        else:
            claims.request_claims(response, endpoint=wanted["endpoint"], by=request.user)
        return Response(_claims(query, request.user), status=202)


class OwnRubric(StudyView):
    scope = "judge"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="rubric")
    def get(self, request: Request, slug: str, key: str) -> Response:
        """The newest rubric of your query."""
        return Response(_rubric(_owned(request, slug, key)))

    @extend_schema(request=OwnRubricBody, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request, slug: str, key: str) -> Response:
        """Save a rubric, or have a model write one from your judgments."""
        query, wanted = _owned(request, slug, key), validated(OwnRubricBody, request.data)
        if text := wanted["text"]:
            gold.save_rubric(query, text, author=request.user)
            return Response(_rubric(query), status=201)
        claims.request_rubric(query, request.user, endpoint=wanted["endpoint"], by=request.user)
        return Response(_rubric(query), status=202)


def _owned(request: Request, slug: str, key: str) -> Query:
    study = owner_queries.study_of(request.user, slug)
    return get_object_or_404(owner_queries.of(study, request.user), external_id=key)


def _written(query: Query, owner: User, wanted: dict) -> Query:
    finish = wanted.pop("finish")
    written = owner_queries.write(query, owner, **wanted)
    return owner_queries.finish(written, owner) if finish else written


def _query(query: Query) -> dict:
    return {
        "id": query.external_id,
        "version": query.version,
        "text": query.text,
        "guide": query.guide,
        "scenario": query.scenario,
        "language": query.language,
        "ready": query.ready,
        "grounds": [ground.session_id for ground in query.grounds.all()],
    }


def _claims(query: Query, owner: User) -> dict:
    response = gold.newest(query)
    rows = response.claims.order_by("number") if response else ()
    return {
        "version": response.version if response else None,
        "claims": [claim.text for claim in rows],
        "information": claims.information(claims.reviewed(query, owner)),
        "job": _job(query, Candidate.Purpose.CLAIMS),
    }


def _rubric(query: Query) -> dict:
    newest = gold.newest_rubric(query)
    return {
        "version": newest.version if newest else None,
        "text": newest.text if newest else "",
        "job": _job(query, Candidate.Purpose.RUBRIC),
    }


def _job(query: Query, purpose: str) -> dict | None:
    """What was asked of a model and is not taken over yet."""
    waiting = Candidate.every.filter(query=query, purpose=purpose, taken_at=None)
    row = waiting.order_by("-created_at").first()
    return {"status": row.status, "error": row.error} if row else None


def _gold(response: GoldResponse) -> dict:
    fields = ("version", "text", "created_at")
    return {name: getattr(response, name) for name in fields}
