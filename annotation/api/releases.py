"""Releases of datasets over HTTP: ask for one, see how it stands, fetch it."""

from collections.abc import Callable
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import policies
from annotation.accounts.models import User
from annotation.api.base import StudyView, validated
from annotation.api.http import Since
from annotation.api.rows import PAGES, RowsPage
from annotation.core import jobs
from annotation.core.errors import Conflict
from annotation.core.schema import serializer_of
from annotation.datasets import freeze, tasks, uploads, withdrawals
from annotation.datasets.choices import ReleaseRequest
from annotation.datasets.models import Release, ReleaseImport
from annotation.datasets.views import zip_response
from annotation.policies import Member
from annotation.studies.access import study_for
from annotation.studies.models import Study

ReleaseBody = serializer_of(ReleaseRequest, title="ReleaseRequest")


class ReleaseStatus(serializers.Serializer):
    id = serializers.UUIDField(source="public_id")
    study = serializers.SlugField(source="study.slug")
    version = serializers.IntegerField()
    layout = serializers.CharField()
    format = serializers.CharField()
    created_at = serializers.DateTimeField(source="as_of")
    status = serializers.ChoiceField(choices=Release.Status.values)
    error = serializers.CharField()
    fetched_at = serializers.DateTimeField(allow_null=True)
    revision = serializers.IntegerField()
    revisions = serializers.ListField(child=serializers.DictField())
    digest = serializers.CharField()
    manifest = serializers.JSONField(allow_null=True)
    url = serializers.SerializerMethodField()
    download_url = serializers.SerializerMethodField()

    def get_url(self, release: Release) -> str:
        return self._address("api-release-status", release)

    def get_download_url(self, release: Release) -> str | None:
        done = release.status == Release.Status.DONE
        return self._address("api-release-download", release) if done else None

    def _address(self, name: str, release: Release) -> str:
        return self.context["request"].build_absolute_uri(reverse(name, args=[release.public_id]))


class ReleaseRow(ReleaseStatus):
    manifest = None


class ReleasesOfStudy(StudyView):
    parameters = Since.PARAMETERS

    @extend_schema(parameters=PAGES, responses=RowsPage, operation_id="release_list")
    def get(self, request: Request, slug: str) -> Response:
        """The study's releases, oldest first, without their manifests."""
        study = study_for(request.user, slug, policies.release.may_read)
        rows = study.releases.select_related("study").defer("manifest")
        page, place = Since().page(request, rows)
        shown = ReleaseRow(page, many=True, context={"request": request})
        return Response({"results": shown.data, **place})

    @extend_schema(
        request=ReleaseBody, responses={202: ReleaseStatus}, operation_id="release_request"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Freeze the study as its next release; it is written in the background."""
        study = study_for(request.user, slug, policies.release.may_freeze)
        fields = validated(ReleaseBody, request.data)
        release = freeze.request(study, by=request.user, **fields)
        tasks.notify(release.pk)
        body = ReleaseStatus(release, context={"request": request}).data
        return Response(body, status=202, headers={"Location": body["url"]})


def slug_of_release(pk: UUID) -> str | None:
    """The study's address of the release ``pk``; None where there is no such release."""
    return Release.objects.filter(public_id=pk).values_list("study__slug", flat=True).first()


class ReleaseDetail(APIView):
    permission_classes = [IsAuthenticated]
    slug_of = staticmethod(slug_of_release)

    @extend_schema(responses=ReleaseStatus, operation_id="release_status")
    def get(self, request: Request, pk: UUID) -> Response:
        """How a release stands, with its manifest when it is done and the reason when it failed."""
        release = release_for(request.user, pk, policies.release.may_read)
        return Response(ReleaseStatus(release, context={"request": request}).data)

    @extend_schema(responses={204: None}, operation_id="release_delete")
    def delete(self, request: Request, pk: UUID) -> Response:
        """Delete a release that nobody has fetched; 409 where somebody has."""
        release = release_for(request.user, pk, policies.release.may_delete)
        withdrawals.delete(release, by=request.user)
        return Response(status=204)


class ReleaseDownload(APIView):
    permission_classes = [IsAuthenticated]
    slug_of = staticmethod(slug_of_release)

    @extend_schema(
        responses={(200, "application/zip"): OpenApiResponse(OpenApiTypes.BINARY)},
        operation_id="release_download",
    )
    def get(self, request: Request, pk: UUID) -> Response:
        """The release as a zip; 409 while it is not done."""
        release = release_for(request.user, pk, policies.release.may_read)
        if release.status != Release.Status.DONE:
            raise Conflict(release.error or "The release is not written yet.", code="not_done")
        return zip_response(request, release)


def release_for(user: User, public_id: UUID, may: Callable[[Member], bool]) -> Release:
    """The release, for those whom ``may`` lets; Http404 or PermissionDenied otherwise."""
    visible = Study.objects.visible_to(user)
    releases = Release.objects.select_related("study").filter(study__in=visible)
    release = get_object_or_404(releases, public_id=public_id)
    study_for(user, release.study.slug, may)
    return release


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
        body = validated(ReleaseUpload, request.data)
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
