"""Judging over HTTP: a slot is claimed, judged or handed back; researchers read what was given."""

import re
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.accounts.models import User
from annotation.api.base import StudyView, call
from annotation.api.serializers import (
    JudgmentSerializer,
    SlotSerializer,
    StoredSerializer,
    acknowledged,
    long_form,
    with_answers,
)
from annotation.core.errors import Conflict, DomainError
from annotation.judging.kinds.body import JudgmentBody
from annotation.judging.models import Slot
from annotation.judging.work import present, queue, submit
from annotation.studies.access import study_for
from annotation.studies.models import Study

REQUIRED_KEY = OpenApiParameter(
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


def slug_of_slot(pk: UUID) -> str | None:
    """The study's address of the slot ``pk``; None where there is no such slot."""
    return Slot.objects.filter(pk=pk).values_list("study__slug", flat=True).first()


def _study_of(user: User, pk: UUID) -> Study:
    """The study of a slot in which ``user`` is an annotator; 404 for any other slot."""
    slug = slug_of_slot(pk)
    if slug is None:
        raise Http404
    try:
        return study_for(user, slug, policies.judgment.may_give)
    except PermissionDenied:
        raise Http404 from None


class ClaimSlot(StudyView):
    scope = "judge"

    @call(
        policies.judgment.may_give,
        responses={200: SlotSerializer, 204: OpenApiResponse(description="Nothing left")},
    )
    def post(self, request: Request, study: Study) -> Response:
        """Take the next slot to judge, or get again the one you hold, its lease renewed."""
        _refuse_without_consent(study)
        if study.status != Study.Status.OPEN:
            raise Conflict("The study is not open.", code="closed")
        slot = queue.claim(study, request.user)
        if slot is None:
            return Response(status=204)
        return Response(SlotSerializer(present.show(slot, request.user)).data)


class SubmitJudgment(StudyView):
    scope = "judge"
    slug_of = staticmethod(slug_of_slot)

    @call(
        parameters=[REQUIRED_KEY],
        request=JudgmentBody,
        responses={201: StoredSerializer, 200: StoredSerializer},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Store your judgment of a slot you hold."""
        study = _study_of(request.user, pk)
        _refuse_without_consent(study)
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            raise DomainError("Send an Idempotency-Key header.", code="key")
        body = request.data
        done = submit.submit(
            study, pk, request.user, body, key=key, body=body, seconds=body.get("seconds")
        )
        stored = StoredSerializer(acknowledged(done.judgment)).data
        return Response(stored, status=200 if done.repeated else 201)


class HandBackSlot(StudyView):
    scope = "judge"
    slug_of = staticmethod(slug_of_slot)

    @call(answer=None, status=204)
    def post(self, request: Request, pk: UUID) -> None:
        """Hand a slot back unjudged."""
        _study_of(request.user, pk)
        queue.hand_back(pk, request.user, "released")


class Judgments(StudyView, GenericAPIView):
    serializer_class = JudgmentSerializer

    @call(
        policies.judgment.may_read,
        name="judgments_list",
        parameters=[EVERY, SINCE],
        also=("cursor", "page_size"),
        answer=JudgmentSerializer,
        many=True,
    )
    def get(self, request: Request, study: Study) -> Response:
        """The judgments of a study that count, of every kind, one row each, oldest first."""
        rows = long_form(study, every=_every(request)).filter(pk__gt=_since(request))
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(JudgmentSerializer(with_answers(page), many=True).data)


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


def _refuse_without_consent(study: Study) -> None:
    if not study.consented:
        raise DomainError(
            "Agree to the study's consent text in the browser first.", code="consent", status=403
        )


class Root(StudyView):
    @call(answer=dict)
    def get(self, request: Request) -> Any:
        """Where to go from here."""
        names = ("studies", "schema", "docs")
        return {name: request.build_absolute_uri(reverse(f"api-{name}")) for name in names}
