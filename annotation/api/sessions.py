"""The sessions of one's own history over HTTP: keep or drop them, and allow what they are for."""

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.accounts.models import User
from annotation.api.base import StudyView, read
from annotation.api.pagination import Since
from annotation.api.rows import PAGES, RowsPage
from annotation.core.errors import DomainError
from annotation.histories import browse, consent
from annotation.histories.models import HistoryConsent, Session
from annotation.studies.models import Study

MOST_AT_ONCE = 1000


class SessionsBody(serializers.Serializer):
    state = serializers.ChoiceField(choices=Session.State.values)
    ids = serializers.ListField(
        child=serializers.UUIDField(), min_length=1, max_length=MOST_AT_ONCE
    )


class UseBody(serializers.Serializer):
    study = serializers.CharField(max_length=60)
    purpose = serializers.ChoiceField(choices=HistoryConsent.Purpose.values)
    endpoint = serializers.CharField(default="", allow_blank=True, max_length=60)
    allowed = serializers.BooleanField()


class Sessions(StudyView):
    scope = "judge"
    parameters = ("state", *Since.PARAMETERS)

    @extend_schema(
        parameters=[OpenApiParameter("state", str, enum=Session.State.values), *PAGES],
        responses=RowsPage,
    )
    def get(self, request: Request) -> Response:
        """Your sessions; ``marked`` says whether one was looked through and can be kept."""
        state = request.query_params.get("state", "")
        if state and state not in Session.State.values:
            names = ", ".join(Session.State.values)
            raise DomainError(f"state is one of {names}.", code="state")
        page, place = Since().page(request, browse.which(request.user, state=state))
        return Response({"results": [_session(row) for row in page], **place})

    @extend_schema(request=SessionsBody, responses=OpenApiTypes.OBJECT)
    def post(self, request: Request) -> Response:
        """Keep or drop sessions; those not yet looked through cannot be kept."""
        wanted = read(SessionsBody, request.data)
        changed = browse.choose(request.user, wanted["ids"], wanted["state"])
        return Response({"changed": changed})


class Uses(StudyView):
    scope = "judge"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="history_uses")
    def get(self, request: Request) -> Response:
        """What your kept sessions may be used for, study by study, in the words agreed to."""
        return Response({"uses": _uses(request.user)})

    @extend_schema(request=UseBody, responses=OpenApiTypes.OBJECT, operation_id="history_use")
    def post(self, request: Request) -> Response:
        """Allow one use of your kept sessions in a study, or take it back."""
        wanted = read(UseBody, request.data)
        joined = Study.objects.filter(memberships__user=request.user, memberships__left_at=None)
        study = get_object_or_404(joined, slug=wanted.pop("study"))
        change = consent.grant if wanted.pop("allowed") else consent.withdraw
        change(request.user, study, **wanted)
        return Response({"uses": _uses(request.user, study)})


def _session(row: Session) -> dict:
    names = ("id", "kind", "provider", "title", "started_at", "length", "state")
    return {name: getattr(row, name) for name in names} | {"marked": row.marked_at is not None}


def _uses(user: User, study: Study | None = None) -> list[dict]:
    return [
        {
            "study": choice["study"].slug,
            "purpose": use["purpose"],
            "endpoint": use["endpoint"],
            "words": str(use["words"]),
            "allowed": use["consent"] is not None,
        }
        for choice in consent.choices(user)
        if study is None or choice["study"] == study
        for use in choice["purposes"]
    ]
