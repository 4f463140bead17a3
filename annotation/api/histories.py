"""A history over HTTP: send a file whole or in pieces, and see how its import stands."""

from typing import IO, Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation.accounts.models import User
from annotation.api.base import StudyView, validated
from annotation.api.http import Since, StrictJSONParser
from annotation.api.rows import PAGES, RowsPage
from annotation.core.errors import DomainError
from annotation.histories import browse, consent, receive, tasks
from annotation.histories.models import HistoryConsent, Session, Upload
from annotation.studies.models import Study

MOST_AT_ONCE = 1000


class Begun(serializers.Serializer):
    upload = serializers.UUIDField(source="pk")
    status_url = serializers.SerializerMethodField()
    offset = serializers.IntegerField(source="received")
    piece = serializers.SerializerMethodField()

    def get_status_url(self, upload: Upload) -> str:
        address = reverse("api-history", args=[upload.pk])
        return self.context["request"].build_absolute_uri(address)

    def get_piece(self, upload: Upload) -> int:
        return receive.PIECE


class UploadStatus(serializers.Serializer):
    upload = serializers.UUIDField(source="pk")
    status = serializers.ChoiceField(choices=Upload.Status.values)
    size = serializers.IntegerField()
    offset = serializers.IntegerField(source="received")
    progress = serializers.IntegerField()
    source = serializers.CharField()
    counts = serializers.JSONField()
    skipped = serializers.JSONField()
    error = serializers.SerializerMethodField()

    def get_error(self, upload: Upload) -> dict | None:
        code, sentence = upload.error_code, upload.error
        return {"code": code, "message": sentence} if code else None


class Announcement(serializers.Serializer):
    size = serializers.IntegerField(min_value=1, max_value=2**53)
    fingerprint = serializers.CharField(
        max_length=receive.FINGERPRINT_LIMIT, default="", allow_blank=True
    )
    name = serializers.CharField(max_length=1_000, default="", allow_blank=True)


class File(serializers.Serializer):
    file = serializers.FileField()


OFFSET = OpenApiParameter("Upload-Offset", int, OpenApiParameter.HEADER, required=True)


def piece_of(request: Request) -> tuple[int, bytes]:
    """Where a piece begins in its file, and the piece. Raises ValidationError."""
    data, offset = request.data, request.headers.get("Upload-Offset", "")
    if not (offset.isascii() and offset.isdigit() and len(offset) < 19):
        raise ValidationError({"Upload-Offset": "A number of bytes is needed."})
    return int(offset), data


class PieceParser(BaseParser):
    """The bytes of one piece, and no more than that."""

    media_type = "application/octet-stream"

    def parse(
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Any = None
    ) -> bytes:
        data = stream.read(receive.PIECE + 1)
        if len(data) > receive.PIECE:
            sentence = f"A piece has at most {receive.PIECE} bytes."
            raise DomainError(sentence, code="piece_too_large", status=413)
        return data


class Histories(APIView):
    permission_classes = [IsAuthenticated]
    scope = reads = "history"
    parser_classes = [MultiPartParser, StrictJSONParser]

    @extend_schema(
        request={"multipart/form-data": File, "application/json": Announcement},
        responses={202: Begun},
        operation_id="history_upload",
    )
    def post(self, request: Request) -> Response:
        """Send one's own history as a file; or announce its size, and send it in pieces."""
        if request.content_type.startswith("multipart/"):
            upload = self._whole(request)
        else:
            upload = receive.begin(request.user, **validated(Announcement, request.data))
        body = Begun(upload, context={"request": request}).data
        return Response(body, status=202, headers={"Location": body["status_url"]})

    def _whole(self, request: Request) -> Upload:
        sent = request.FILES.get("file")
        if sent is None:
            raise ValidationError({"file": "Send one file under this name."})
        upload = receive.whole(request.user, sent)
        tasks.notify(upload.pk)
        return upload


class History(APIView):
    permission_classes = [IsAuthenticated]
    scope = reads = "history"
    parser_classes = [PieceParser]

    @extend_schema(responses=UploadStatus, operation_id="history_status")
    def get(self, request: Request, pk: UUID) -> Response:
        """The state of an upload, and its contents."""
        upload = get_object_or_404(Upload, owner=request.user, pk=pk)
        return Response(UploadStatus(upload).data)

    @extend_schema(
        request={"application/octet-stream": OpenApiTypes.BINARY},
        parameters=[OFFSET],
        responses=UploadStatus,
        operation_id="history_piece",
    )
    def patch(self, request: Request, pk: UUID) -> Response:
        """Add the piece that begins at ``Upload-Offset``; 409 gives the expected offset."""
        upload = get_object_or_404(Upload, owner=request.user, pk=pk)
        upload = receive.append(request.user, upload.pk, *piece_of(request))
        if upload.status == Upload.Status.REQUESTED:
            tasks.notify(upload.pk)
        return Response(UploadStatus(upload).data)


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
    scope = reads = "history"
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
        wanted = validated(SessionsBody, request.data)
        changed = browse.choose(request.user, wanted["ids"], wanted["state"])
        return Response({"changed": changed})


class Uses(StudyView):
    scope = reads = "history"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="history_uses")
    def get(self, request: Request) -> Response:
        """What your kept sessions may be used for, study by study, in the words agreed to."""
        return Response({"uses": _uses(request.user)})

    @extend_schema(request=UseBody, responses=OpenApiTypes.OBJECT, operation_id="history_use")
    def post(self, request: Request) -> Response:
        """Allow one use of your kept sessions in a study, or take it back."""
        wanted = validated(UseBody, request.data)
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
