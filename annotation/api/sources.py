"""What answers and attributes rest on, over HTTP: retrieval, documents, members' own chats."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.base import StudyView, validated
from annotation.candidates import documents, retrieve
from annotation.candidates.models import DocumentFile
from annotation.core.schema import serializer_of
from annotation.personas import conversations
from annotation.studies.access import study_for

FILES = 100


RetrievalBody = serializer_of(retrieve.Search, title="RetrievalBody")


class StudyRetrieval(StudyView):
    @extend_schema(responses=RetrievalBody)
    def get(self, request: Request, slug: str) -> Response:
        """The sources and strategies of the study's search-augmented answers."""
        study = study_for(request.user, slug, policies.source.may_change)
        return Response(RetrievalBody(retrieve.settings_of(study)).data)

    @extend_schema(request=RetrievalBody, responses=RetrievalBody)
    def put(self, request: Request, slug: str) -> Response:
        """Set what is named; ``oracle`` makes the study one that may show the need to models."""
        study = study_for(request.user, slug, policies.source.may_change)
        wanted = validated(RetrievalBody, request.data, partial=True)
        saved = retrieve.save(study, wanted, by=request.user)
        return Response(RetrievalBody(saved).data)


class DocumentUpload(serializers.Serializer):
    file = serializers.FileField(help_text="JSON lines, HTML, PDF, Markdown or plain text.")


class DocumentFileBody(serializers.ModelSerializer):
    class Meta:
        model = DocumentFile
        fields = (
            *("id", "name", "size", "status", "requested_at", "done", "total"),
            *("added", "unchanged", "skipped", "skipped_count", "error"),
        )
        read_only_fields = fields


class Documents(StudyView):
    parser_classes = [MultiPartParser]

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="documents")
    def get(self, request: Request, slug: str) -> Response:
        """How many documents the collection has, and its newest files with what came of each."""
        study = study_for(request.user, slug, policies.source.may_change)
        files = study.document_files.order_by("-pk")[:FILES]
        shown = DocumentFileBody(files, many=True).data
        return Response({"documents": study.documents.count(), "files": shown})

    @extend_schema(
        request={"multipart/form-data": DocumentUpload},
        responses={202: DocumentFileBody},
        operation_id="documents_add",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add the documents of a file; a worker reads it."""
        study = study_for(request.user, slug, policies.source.may_change)
        file = validated(DocumentUpload, request.data)["file"]
        row = documents.request_reading(study, file, request.user)
        return Response(DocumentFileBody(row).data, status=202)

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="documents_remove")
    def delete(self, request: Request, slug: str) -> Response:
        """Empty the collection. Answers keep the sources that they were written from."""
        study = study_for(request.user, slug, policies.source.may_change)
        return Response({"removed": documents.remove(study, by=request.user)})


class ConversationsOfMembers(StudyView):
    @extend_schema(request=None, responses=OpenApiTypes.OBJECT, operation_id="add_histories")
    def post(self, request: Request, slug: str) -> Response:
        """Add the redacted chats of members who allow it to the study's pool; ``added`` is new."""
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response({"added": conversations.add_histories(study, by=request.user)})
