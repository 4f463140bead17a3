"""The REST API. Every view begins with the same guard as the pages, ``study_for``."""

import re
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import (
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)
from rest_framework import generics
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import policies
from annotation.accounts.models import User
from annotation.api import base, serializers, studies
from annotation.core.errors import Conflict, DomainError
from annotation.judging.kinds.body import JudgmentBody
from annotation.judging.models import Slot
from annotation.judging.work import present, queue, submit
from annotation.studies.access import study_for
from annotation.studies.models import Study

KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="Names this submit. Sent again with the same body, it is answered, not stored.",
)

EVERY = OpenApiParameter(
    "all", str, enum=["0", "1"], description="`1`: also what was revised and what was taken out."
)
SINCE = OpenApiParameter("since", int, description="Only judgments after the one of this id.")


class Studies(base.StudyView, generics.ListAPIView):
    """The studies you are a member of."""

    parameters = ("cursor", "page_size")
    scope = "admin"
    serializer_class = serializers.StudySerializer

    def get_queryset(self) -> QuerySet[Study]:
        return Study.objects.visible_to(self.request.user).with_membership(self.request.user)

    @extend_schema(parameters=[base.KEY], request=studies.StudyBody)
    def post(self, request: Request) -> Response:
        """Make a study, of a whole definition where the body has `tasks`; you administer it."""
        return studies.create_study(request)


class OneStudy(base.StudyView, generics.GenericAPIView):
    scope = "admin"
    serializer_class = serializers.StudySerializer

    def get(self, request: Request, slug: str) -> Response:
        """A study that you are a member of."""
        study = study_for(request.user, slug, policies.study.may_open)
        return Response(self.get_serializer(study).data)

    @extend_schema(request=studies.StudyChange)
    def patch(self, request: Request, slug: str) -> Response:
        """Change title or description, open or close the study; what is left out stays."""
        return studies.change_study(request, slug)

    @extend_schema(responses=studies.RemovalDone)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the study, or close it where people have judged in it or it has releases."""
        return studies.remove_study(request, slug)


class ClaimSlot(APIView):
    """Take the next slot to judge, or get again the one you hold, its lease renewed."""

    permission_classes = [IsAuthenticated]
    scope = "judge"

    @extend_schema(
        request=None,
        responses={
            200: serializers.SlotSerializer,
            204: OpenApiResponse(description="Nothing left"),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug, policies.judgment.may_give)
        _may_judge(study)
        if study.status != Study.Status.OPEN:
            raise Conflict("The study is not open.", code="closed")
        slot = queue.claim(study, request.user)
        if slot is None:
            return Response(status=204)
        shown = present.show(slot, request.user)
        return Response(serializers.SlotSerializer(shown).data)


class SubmitJudgment(APIView):
    """Store your judgment of a slot you hold."""

    permission_classes = [IsAuthenticated]
    scope = "judge"
    slug_of = staticmethod(lambda pk: slug_of_slot(pk))

    @extend_schema(
        parameters=[KEY],
        request=JudgmentBody,
        responses={201: serializers.StoredSerializer, 200: serializers.StoredSerializer},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        study = _study_of(request.user, pk)
        _may_judge(study)
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            raise DomainError("Send an Idempotency-Key header.", code="key")
        done = submit.submit(
            study,
            pk,
            request.user,
            request.data,
            key=key,
            body=request.data,
            seconds=request.data.get("seconds"),
        )
        stored = serializers.StoredSerializer(serializers.acknowledged(done.judgment))
        return Response(stored.data, status=200 if done.repeated else 201)


class HandBackSlot(APIView):
    """Hand a slot back unjudged."""

    permission_classes = [IsAuthenticated]
    scope = "judge"
    slug_of = staticmethod(lambda pk: slug_of_slot(pk))

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, pk: UUID) -> Response:
        _study_of(request.user, pk)
        queue.hand_back(pk, request.user, "released")
        return Response(status=204)


class Judgments(base.StudyView, generics.GenericAPIView):
    """The judgments of a study that count, of every kind, one row each, oldest first."""

    parameters = ("all", "since", "cursor", "page_size")
    serializer_class = serializers.JudgmentSerializer

    @extend_schema(
        parameters=[EVERY, SINCE],
        responses=serializers.JudgmentSerializer(many=True),
        operation_id="judgments_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        study = study_for(request.user, slug, policies.judgment.may_read)
        rows = serializers.long_form(study, every=_every(request)).filter(pk__gt=_since(request))
        page = self.paginate_queryset(rows)
        rows = self.get_serializer(serializers.with_answers(page), many=True)
        return self.get_paginated_response(rows.data)


def _every(request: Request) -> bool:
    text = request.query_params.get("all", "0")
    if text not in ("0", "1"):
        raise DomainError("all is 1 or 0.", code="all")
    return text == "1"


def _since(request: Request) -> int:
    text = request.query_params.get("since", "0")
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise DomainError("since is the id of a judgment.", code="since")
    return int(text)


def slug_of_slot(pk: UUID) -> str | None:
    """The study's address of the slot ``pk``; None where there is no such slot."""
    return Slot.objects.filter(pk=pk).values_list("study__slug", flat=True).first()


def _study_of(user: User, slot_id: UUID) -> Study:
    """The study of a slot in which ``user`` is an annotator; 404 for any other slot."""
    slug = slug_of_slot(slot_id)
    if slug is None:
        raise Http404
    try:
        return study_for(user, slug, policies.judgment.may_give)
    except PermissionDenied:
        raise Http404 from None


def _may_judge(study: Study) -> None:
    if not study.consented:
        raise DomainError(
            "Agree to the study's consent text in the browser first.", code="consent", status=403
        )


class Root(APIView):
    """Where to go from here."""

    permission_classes = [IsAuthenticated]

    @extend_schema(responses={200: dict})
    def get(self, request: Request) -> Response:
        return Response(
            {
                "studies": request.build_absolute_uri(reverse("api-studies")),
                "schema": request.build_absolute_uri(reverse("api-schema")),
                "docs": request.build_absolute_uri(reverse("api-docs")),
            }
        )
