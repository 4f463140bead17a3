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

from annotation.api.base import read
from annotation.api.parsers import StrictJSONParser
from annotation.core.errors import DomainError
from annotation.histories import files, receive, tasks
from annotation.histories.models import Upload


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
    scope = "judge"
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
            upload = receive.begin(request.user, **read(Announcement, request.data))
        body = Begun(upload, context={"request": request}).data
        return Response(body, status=202, headers={"Location": body["status_url"]})

    def _whole(self, request: Request) -> Upload:
        sent = request.FILES.get("file")
        if refusal := getattr(request._request, "upload_refused", None):
            raise refusal
        if not isinstance(sent, files.Received):
            raise ValidationError({"file": "Send one file under this name."})
        upload = receive.whole(request.user, sent)
        tasks.soon(upload.pk)
        return upload


class History(APIView):
    permission_classes = [IsAuthenticated]
    scope = "judge"
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
            tasks.soon(upload.pk)
        return Response(UploadStatus(upload).data)
