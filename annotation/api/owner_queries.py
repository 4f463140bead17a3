"""An owner's queries and gold responses over HTTP: what the pages of their own queries do."""

from typing import Any

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.models import User
from annotation.api.base import StudyView, call, shown
from annotation.candidates.models import Candidate
from annotation.core.errors import DomainError
from annotation.judging import claims
from annotation.queries import author, owner_queries
from annotation.queries.models import GoldResponse, Query
from annotation.studies.models import Study

OF_QUERY = ("version", "text", "guide", "scenario", "language", "ready")


class GuideBody(serializers.Serializer):
    """The need behind a question, part by part."""

    def get_fields(self) -> dict[str, serializers.Field]:
        options: dict[str, Any] = {"default": "", "allow_blank": True}
        return {
            name: serializers.CharField(max_length=owner_queries.NEED_LIMIT, **options)
            for name in owner_queries.PARTS
        }


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
    text = serializers.CharField(
        default="", allow_blank=True, max_length=author.TEXT_LIMIT, trim_whitespace=False
    )
    wish = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=claims.WISH_LIMIT,
        help_text="What a model is to change in the newest response, in place of a text.",
    )
    endpoint = serializers.CharField(default="", allow_blank=True, max_length=60)


class OwnClaimsBody(serializers.Serializer):
    endpoint = serializers.CharField(default="", allow_blank=True, max_length=60)
    claims = serializers.ListField(
        child=serializers.CharField(max_length=author.CLAIM_LIMIT),
        default=list,
        max_length=author.CLAIMS_LIMIT,
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
        max_length=author.TEXT_LIMIT,
        help_text="The rubric in your words; without it, a model writes one from your judgments.",
    )


def _owned(user: User, slug: str, key: str) -> Query:
    study = owner_queries.study_of(user, slug)
    return get_object_or_404(owner_queries.of(study, user), external_id=key)


class OwnQueries(StudyView):
    scope = "judge"

    @call(owner_queries.study_of, name="own_queries_list")
    def get(self, request: Request, study: Study) -> Any:
        """Your current queries, newest first."""
        queries = owner_queries.of(study, request.user).prefetch_related("grounds")
        return {"queries": [_query(query) for query in queries]}

    @call(owner_queries.study_of, takes=OwnQueryBody, status=201, key=True)
    def post(self, request: Request, study: Study, wanted: dict) -> Any:
        """Write a new query; with ``finish`` it may be answered."""
        with transaction.atomic():
            begun = owner_queries.begin(study, request.user)
            return _query(_written(begun, request.user, wanted))


class OwnQuery(StudyView):
    scope = "judge"

    @call(_owned, name="own_query")
    def get(self, request: Request, query: Query) -> Any:
        """One of your queries."""
        return _query(query)

    @call(_owned, takes=OwnQueryBody)
    def put(self, request: Request, query: Query, wanted: dict) -> Any:
        """Write your query anew; one that has answers gets a next version."""
        with transaction.atomic():
            written = _written(owner_queries.change(query, request.user), request.user, wanted)
        return _query(written)


class OwnGold(StudyView):
    scope = "judge"

    @call(_owned, name="gold_list")
    def get(self, request: Request, query: Query) -> Any:
        """The versions of the gold response to your query, newest first."""
        versions = query.gold_responses.order_by("-version")
        job = _job(query, Candidate.Purpose.REFINED)
        return {"versions": [_gold(response) for response in versions], "job": job}

    @call(_owned, takes=GoldBody)
    def post(self, request: Request, query: Query, wanted: dict) -> Any:
        """Save a gold response: the next version, where its text differs from the newest one.

        With a ``wish`` a model refines the newest one instead.
        """
        if wish := wanted["wish"]:
            claims.request_refined(query, request.user, wish, endpoint=wanted["endpoint"])
            return Response({"job": _job(query, Candidate.Purpose.REFINED)}, status=202)
        judged = claims.scored(query, request.user)
        best = judged[0]["candidate"].pk if judged else None
        return _gold(author.save_response(query, request.user, wanted["text"], source=best))


class OwnClaims(StudyView):
    scope = "judge"

    @call(_owned, name="claims_list")
    def get(self, request: Request, query: Query) -> Any:
        """The claims of your newest gold response, and what you accepted as gold information."""
        return _claims(query, request.user)

    @call(_owned, takes=OwnClaimsBody)
    def post(self, request: Request, query: Query, wanted: dict) -> Response:
        """Have the newest gold response split into claims by a model, or write them yourself."""
        response = author.newest(query)
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

    @call(_owned, name="rubric")
    def get(self, request: Request, query: Query) -> Any:
        """The newest rubric of your query."""
        return _rubric(query)

    @call(_owned, takes=OwnRubricBody)
    def post(self, request: Request, query: Query, wanted: dict) -> Response:
        """Save a rubric, or have a model write one from your judgments."""
        if text := wanted["text"]:
            author.save_rubric(query, text, author=request.user)
            return Response(_rubric(query), status=201)
        claims.request_rubric(query, request.user, endpoint=wanted["endpoint"])
        return Response(_rubric(query), status=202)


def _written(query: Query, owner: User, wanted: dict) -> Query:
    finish = wanted.pop("finish")
    written = owner_queries.write_query(query, owner, **wanted)
    return owner_queries.finish(written, owner) if finish else written


def _query(query: Query) -> dict:
    fields = shown(query, *OF_QUERY, id="external_id")
    return fields | {"grounds": [ground.session_id for ground in query.grounds.all()]}


def _claims(query: Query, owner: User) -> dict:
    response = author.newest(query)
    rows = response.claims.order_by("number") if response else ()
    return {
        "version": response.version if response else None,
        "claims": [claim.text for claim in rows],
        "information": claims.information(claims.reviewed(query, owner)),
        "job": _job(query, Candidate.Purpose.CLAIMS),
    }


def _rubric(query: Query) -> dict:
    newest = author.newest_rubric(query)
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
    return shown(response, "version", "text", "created_at")
