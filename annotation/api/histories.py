"""A history over HTTP: send a file whole or in pieces, and see how its import stands."""

from typing import IO, Any
from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import BaseParser, MultiPartParser
from rest_framework.request import Request

from annotation.accounts.models import User
from annotation.api.base import AddressField, StudyView, call, shown, validated
from annotation.api.http import StrictJSONParser, page_since
from annotation.api.rows import PAGES, RowsPage
from annotation.core.errors import DomainError
from annotation.core.uploads import FINGERPRINT_LIMIT, PIECE
from annotation.histories import browse, consent, ingest, tasks
from annotation.histories.models import HistoryConsent, Session, Upload
from annotation.studies.models import Study

MOST_AT_ONCE = 1000


class Begun(serializers.Serializer):
    upload = serializers.UUIDField(source="pk")
    status_url = AddressField("api-history", "pk")
    offset = serializers.IntegerField(source="received")
    piece = serializers.SerializerMethodField()

    def get_piece(self, upload: Upload) -> int:
        return PIECE


class UploadStatus(serializers.ModelSerializer):
    upload = serializers.UUIDField(source="pk")
    offset = serializers.IntegerField(source="received")
    error = serializers.SerializerMethodField()

    class Meta:
        model = Upload
        fields = (
            *("upload", "status", "size", "offset", "progress", "source", "counts", "skipped"),
            "error",
        )
        read_only_fields = fields

    def get_error(self, upload: Upload) -> dict | None:
        code, sentence = upload.error_code, upload.error
        return {"code": code, "message": sentence} if code else None


class Announcement(serializers.Serializer):
    size = serializers.IntegerField(min_value=1, max_value=2**53)
    fingerprint = serializers.CharField(max_length=FINGERPRINT_LIMIT, default="", allow_blank=True)
    name = serializers.CharField(max_length=1_000, default="", allow_blank=True)


class File(serializers.Serializer):
    file = serializers.FileField()


OFFSET = OpenApiParameter("Upload-Offset", int, OpenApiParameter.HEADER, required=True)


def file_in(request: Request) -> UploadedFile | None:
    """The file of a form; None of any other body. ValidationError where the form has none."""
    if not request.content_type.startswith("multipart/"):
        return None
    if "file" not in request.FILES:
        raise ValidationError({"file": "Send one file under this name."})
    return request.FILES["file"]


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
        data = stream.read(PIECE + 1)
        if len(data) > PIECE:
            sentence = f"A piece has at most {PIECE} bytes."
            raise DomainError(sentence, code="piece_too_large", status=413)
        return data


class Histories(StudyView):
    scope = reads = "history"
    parser_classes = [MultiPartParser, StrictJSONParser]

    @call(
        name="history_upload",
        request={"multipart/form-data": File, "application/json": Announcement},
        answer=Begun,
        status=202,
        location="status_url",
    )
    def post(self, request: Request) -> Any:
        """Send one's own history as a file; or announce its size, and send it in pieces."""
        file = file_in(request)
        if file is None:
            return ingest.begin(request.user, **validated(Announcement, request.data))
        upload = ingest.whole(request.user, file)
        tasks.notify(upload.pk)
        return upload


def _upload_of(user: User, pk: UUID) -> Upload:
    return get_object_or_404(Upload, owner=user, pk=pk)


class History(StudyView):
    scope = reads = "history"
    parser_classes = [PieceParser]

    @call(_upload_of, name="history_status", answer=UploadStatus)
    def get(self, request: Request, upload: Upload) -> Any:
        """The state of an upload, and its contents."""
        return upload

    @call(
        _upload_of,
        name="history_piece",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        parameters=[OFFSET],
        answer=UploadStatus,
    )
    def patch(self, request: Request, upload: Upload) -> Any:
        """Add the piece that begins at ``Upload-Offset``; 409 gives the expected offset."""
        upload = ingest.append(request.user, upload.pk, *piece_of(request))
        if upload.status == Upload.Status.REQUESTED:
            tasks.notify(upload.pk)
        return upload


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

    @call(
        parameters=[OpenApiParameter("state", str, enum=Session.State.values), *PAGES],
        answer=RowsPage,
    )
    def get(self, request: Request) -> Any:
        """Your sessions; ``marked`` says whether one was looked through and can be kept."""
        state = request.query_params.get("state", "")
        if state and state not in Session.State.values:
            names = ", ".join(Session.State.values)
            raise DomainError(f"state is one of {names}.", code="state")
        return page_since(request, browse.which(request.user, state=state), _session)

    @call(takes=SessionsBody)
    def post(self, request: Request, wanted: dict) -> Any:
        """Keep or drop sessions; those not yet looked through cannot be kept."""
        return {"changed": browse.choose(request.user, wanted["ids"], wanted["state"])}


class Uses(StudyView):
    scope = reads = "history"

    @call(name="history_uses")
    def get(self, request: Request) -> Any:
        """What your kept sessions may be used for, study by study, in the words agreed to."""
        return {"uses": _uses(request.user)}

    @call(name="history_use", takes=UseBody)
    def post(self, request: Request, wanted: dict) -> Any:
        """Allow one use of your kept sessions in a study, or take it back."""
        joined = Study.objects.filter(memberships__user=request.user, memberships__left_at=None)
        study = get_object_or_404(joined, slug=wanted.pop("study"))
        change = consent.grant if wanted.pop("allowed") else consent.withdraw
        change(request.user, study, **wanted)
        return {"uses": _uses(request.user, study)}


def _session(row: Session) -> dict:
    names = ("id", "kind", "provider", "title", "started_at", "length", "state")
    return shown(row, *names) | {"marked": row.marked_at is not None}


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
