"""Releases of datasets over HTTP: ask for one, see how it stands, fetch it."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.accounts.models import User
from annotation.api.base import AddressField, StudyView, call
from annotation.api.bodies import serializer_of
from annotation.api.http import page_since
from annotation.api.rows import PAGES, RowsPage
from annotation.core import jobs
from annotation.core.errors import Conflict
from annotation.datasets import freeze, release_import, tasks, withdrawals
from annotation.datasets.choices import ReleaseRequest
from annotation.datasets.models import Release, ReleaseImport
from annotation.datasets.views import zip_response
from annotation.studies.access import study_for
from annotation.studies.models import Study

ReleaseBody = serializer_of(ReleaseRequest, title="ReleaseRequest")


class ReleaseStatus(serializers.ModelSerializer):
    id = serializers.UUIDField(source="public_id")
    study = serializers.SlugField(source="study.slug")
    created_at = serializers.DateTimeField(source="as_of")
    revisions = serializers.ListField(child=serializers.DictField())
    url = AddressField("api-release-status", "public_id")
    download_url = serializers.SerializerMethodField()

    class Meta:
        model = Release
        fields: tuple[str, ...] = (
            *("id", "study", "version", "layout", "format", "created_at", "status", "error"),
            *("fetched_at", "revision", "revisions", "digest", "manifest", "url", "download_url"),
        )
        read_only_fields = fields

    def get_download_url(self, release: Release) -> str | None:
        if release.status != Release.Status.DONE:
            return None
        address = reverse("api-release-download", args=[release.public_id])
        return self.context["request"].build_absolute_uri(address)


class ReleaseRow(ReleaseStatus):
    class Meta(ReleaseStatus.Meta):
        fields = tuple(name for name in ReleaseStatus.Meta.fields if name != "manifest")


class ReleasesOfStudy(StudyView):
    @call(policies.release.may_read, name="release_list", parameters=PAGES, answer=RowsPage)
    def get(self, request: Request, study: Study) -> Any:
        """The study's releases, oldest first, without their manifests."""
        rows = study.releases.select_related("study").defer("manifest")
        context = {"request": request}
        return page_since(request, rows, lambda row: ReleaseRow(row, context=context).data)

    @call(
        policies.release.may_freeze,
        name="release_request",
        takes=ReleaseBody,
        answer=ReleaseStatus,
        status=202,
        location="url",
    )
    def post(self, request: Request, study: Study, fields: dict) -> Any:
        """Freeze the study as its next release; it is written in the background."""
        release = freeze.request_release(study, by=request.user, **fields)
        tasks.notify(release.pk)
        return release


def slug_of_release(pk: UUID) -> str | None:
    """The study's address of the release ``pk``; None where there is no such release."""
    return Release.objects.filter(public_id=pk).values_list("study__slug", flat=True).first()


def of_release(may: policies.Policy) -> Callable[..., Release]:
    """The guard of calls on a release that ``may`` lets; Http404 or PermissionDenied otherwise."""

    def release_for(user: User, pk: UUID) -> Release:
        visible = Study.objects.visible_to(user)
        releases = Release.objects.select_related("study").filter(study__in=visible)
        release = get_object_or_404(releases, public_id=pk)
        study_for(user, release.study.slug, may)
        return release

    return release_for


class ReleaseDetail(StudyView):
    slug_of = staticmethod(slug_of_release)

    @call(of_release(policies.release.may_read), name="release_status", answer=ReleaseStatus)
    def get(self, request: Request, release: Release) -> Any:
        """How a release stands, with its manifest when it is done and the reason when it failed."""
        return release

    @call(of_release(policies.release.may_delete), name="release_delete", answer=None, status=204)
    def delete(self, request: Request, release: Release) -> None:
        """Delete a release that nobody has fetched; 409 where somebody has."""
        withdrawals.delete(release, by=request.user)


class ReleaseDownload(StudyView):
    slug_of = staticmethod(slug_of_release)

    @call(
        of_release(policies.release.may_read),
        name="release_download",
        responses={(200, "application/zip"): OpenApiResponse(OpenApiTypes.BINARY)},
    )
    def get(self, request: Request, release: Release) -> Any:
        """The release as a zip; 409 while it is not done."""
        if release.status != Release.Status.DONE:
            raise Conflict(release.error or "The release is not written yet.", code="not_done")
        return zip_response(request, release)


class ReleaseUpload(serializers.Serializer):
    """A zipped release and the address of the study it is to be."""

    file = serializers.FileField(help_text="A zip of a release of any layout, ours or published.")
    slug = serializers.SlugField(max_length=60)


class ReleaseImportStatus(serializers.ModelSerializer):
    """How an import stands; ``report`` is what `import_release --json` prints."""

    id = serializers.UUIDField(source="public_id")

    class Meta:
        model = ReleaseImport
        fields = ("id", "slug", "status", "error", "report")
        read_only_fields = fields


class ReleaseImports(StudyView):
    """Uploads of releases."""

    parser_classes = [MultiPartParser]

    @call(takes=ReleaseUpload, answer=ReleaseImportStatus, status=202)
    def post(self, request: Request, body: dict) -> Any:
        """Keep a zipped release; a worker makes the study of it."""
        job = release_import.request_import(body["file"], body["slug"], request.user)
        jobs.enqueue(tasks.import_upload, job.pk)
        address = reverse("api-release-import", args=[job.public_id])
        headers = {"Location": request.build_absolute_uri(address)}
        return Response(ReleaseImportStatus(job).data, status=202, headers=headers)


class OneReleaseImport(StudyView):
    """One upload, for whoever sent it."""

    @call(answer=ReleaseImportStatus)
    def get(self, request: Request, pk: UUID) -> Any:
        """How the import stands, with its report when it is done."""
        return get_object_or_404(ReleaseImport, by=request.user, public_id=pk)
