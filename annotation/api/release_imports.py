"""Studies from releases over HTTP: send a zip, see how its import stands."""

from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import StudyView, read
from annotation.core import jobs
from annotation.datasets import tasks, uploads
from annotation.datasets.models import ReleaseImport


class ReleaseUpload(serializers.Serializer):
    """A zipped release and the address of the study it is to be."""

    file = serializers.FileField(help_text="A zip of a release of any layout, ours or published.")
    slug = serializers.SlugField(max_length=60)


class ReleaseImportStatus(serializers.Serializer):
    """How an import stands; ``report`` is what `import_release --json` prints."""

    id = serializers.UUIDField(source="public_id")
    slug = serializers.CharField()
    status = serializers.ChoiceField(choices=ReleaseImport.Status.values)
    error = serializers.CharField()
    report = serializers.JSONField(allow_null=True)


class ReleaseImports(StudyView):
    """Uploads of releases."""

    parser_classes = [MultiPartParser]

    @extend_schema(request=ReleaseUpload, responses={202: ReleaseImportStatus})
    def post(self, request: Request) -> Response:
        """Keep a zipped release; a worker makes the study of it."""
        body = read(ReleaseUpload, request.data)
        job = uploads.request(body["file"], body["slug"], request.user)
        jobs.notify(tasks.import_upload, job.pk)
        address = reverse("api-release-import", args=[job.public_id])
        headers = {"Location": request.build_absolute_uri(address)}
        return Response(ReleaseImportStatus(job).data, status=202, headers=headers)


class OneReleaseImport(StudyView):
    """One upload, for whoever sent it."""

    @extend_schema(responses=ReleaseImportStatus)
    def get(self, request: Request, pk: UUID) -> Response:
        """How the import stands, with its report when it is done."""
        sent = ReleaseImport.objects.filter(by=request.user)
        return Response(ReleaseImportStatus(get_object_or_404(sent, public_id=pk)).data)
