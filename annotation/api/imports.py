"""Imports over HTTP: send a file, map its columns, start the import, read its report."""

from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request

from annotation import policies
from annotation.accounts.models import User
from annotation.api.base import AddressField, StudyView, call, validated
from annotation.api.bodies import serializer_of
from annotation.api.histories import OFFSET, PieceParser, file_in, piece_of
from annotation.api.http import StrictJSONParser
from annotation.core.schema import built, taken
from annotation.core.uploads import FINGERPRINT_LIMIT
from annotation.imports import recipes, run, tasks
from annotation.imports.bring import Classes, Known, Options
from annotation.imports.mapping import Mapping
from annotation.imports.models import DataImport
from annotation.imports.tables import HubTable, Text
from annotation.studies.access import study_for
from annotation.studies.models import Study

FAULTS = 100
LISTED = 100


class ImportFile(serializers.Serializer):
    file = serializers.FileField()


class ImportAnnouncement(serializer_of(HubTable)):  # type: ignore[misc]
    """``size`` of a file that is sent in pieces, or a table of the Hugging Face Hub."""

    name = serializers.CharField(max_length=200, default="file")
    size = serializers.IntegerField(min_value=1, max_value=2**53, required=False)
    fingerprint = serializers.CharField(max_length=FINGERPRINT_LIMIT, default="", allow_blank=True)


class RecipeField(serializers.ChoiceField):
    """One of the recipes that are known when the request comes."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(choices=list(recipes.by_name()), **kwargs)


class KnownProvenance(serializer_of(Known)):  # type: ignore[misc]
    """What is known of where imported data come from."""


class ImportJoin(serializers.Serializer):
    """A file of the study that waits, whose row stands beside those whose column names its key."""

    upload = serializers.UUIDField()
    column = serializers.CharField(max_length=200)
    key = serializers.CharField(max_length=200)


class ImportStart(serializer_of(Classes), serializer_of(Options), serializer_of(Text)):  # type: ignore[misc]
    """``map`` or ``recipe``; without either the columns are recognised by name."""

    recipe = RecipeField(required=False)
    map = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(max_length=500), max_length=50),
        required=False,
        help_text="{target: [columns]}",
    )
    provenance = KnownProvenance(required=False, default=dict)
    joins = ImportJoin(many=True, default=list, help_text="Second files; fields are COLUMN.FIELD.")


class KnownOfStudy(KnownProvenance):
    id = serializers.IntegerField()
    file = serializers.CharField()


class ImportStatus(serializers.ModelSerializer):
    upload = serializers.UUIDField(source="pk")
    offset = serializers.IntegerField(source="received")
    rows = serializers.IntegerField(help_text="Rows read so far.")
    rows_stored = serializers.IntegerField(help_text="Rows stored so far.")
    unknown_columns = serializers.JSONField(source="unknown")
    wider = serializers.ListField(
        child=serializers.CharField(), help_text="What `allow` could name for faulty lines to fit."
    )
    provenance = KnownProvenance()
    rejected_count = serializers.IntegerField(source="rejected")
    error = serializers.SerializerMethodField()
    status_url = AddressField("api-import", "study.slug", "pk")
    page_url = AddressField("import", "study.slug", "pk")

    class Meta:
        model = DataImport
        fields: tuple[str, ...] = (
            *("upload", "name", "status", "size", "offset", "rows", "rows_stored", "counts"),
            *("unknown_columns", "wider", "provenance", "rejected_count", "error"),
            *("status_url", "page_url"),
        )
        read_only_fields = fields

    def get_error(self, row: DataImport) -> dict | None:
        return {"code": row.error_code, "message": row.error} if row.error_code else None


class ImportLine(serializers.Serializer):
    line = serializers.IntegerField()
    reason = serializers.CharField()


class ImportDetail(ImportStatus):
    rejected = serializers.SerializerMethodField()

    class Meta(ImportStatus.Meta):
        fields = (*ImportStatus.Meta.fields, "rejected")

    def get_rejected(self, row: DataImport) -> list[dict]:
        return ImportLine(row.faults.all()[:FAULTS], many=True).data


def _notified(row: DataImport) -> DataImport:
    """The import, after a worker was notified of a file that has come whole."""
    if row.status == DataImport.Status.REQUESTED:
        tasks.notify(row.pk)
    return row


class Imports(StudyView):
    parser_classes = [MultiPartParser, StrictJSONParser]
    scope = "curate"

    @call(policies.data_import.may_manage, name="imports", answer=ImportStatus, many=True)
    def get(self, request: Request, study: Study) -> Any:
        """The last 100 imports of the study, newest first."""
        return study.imports.defer("sample").order_by("-created_at")[:LISTED]

    @call(
        policies.data_import.may_manage,
        name="import_upload",
        request={"multipart/form-data": ImportFile, "application/json": ImportAnnouncement},
        answer=ImportStatus,
        status=202,
    )
    def post(self, request: Request, study: Study) -> Any:
        """Send a table as a file; or announce its size, and send it in pieces."""
        if file := file_in(request):
            return _notified(run.whole(study, request.user, file))
        wanted = validated(ImportAnnouncement, request.data)
        if wanted["hub"]:
            hub = HubTable(**taken(HubTable, wanted))
            return _notified(run.from_hub(study, request.user, hub))
        if "size" not in wanted:
            raise ValidationError({"size": "Say how many bytes come, or name a data set as hub."})
        announced = {name: wanted[name] for name in ("name", "size", "fingerprint")}
        return run.begin(study, request.user, **announced)


def _import_of(user: User, slug: str, pk: UUID) -> DataImport:
    study = study_for(user, slug, policies.data_import.may_manage)
    return get_object_or_404(DataImport.objects.select_related("study"), study=study, pk=pk)


class Import(StudyView):
    parser_classes = [PieceParser]
    scope = "curate"

    @call(_import_of, name="import_status", answer=ImportDetail)
    def get(self, request: Request, row: DataImport) -> Any:
        """How an import stands, what came in, and the first 100 faulty lines."""
        return row

    @call(
        _import_of,
        name="import_piece",
        parameters=[OFFSET],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        answer=ImportStatus,
    )
    def patch(self, request: Request, row: DataImport) -> Any:
        """Add the piece that begins at ``Upload-Offset``; 409 gives the expected offset."""
        return _notified(run.append(row.study, row.pk, *piece_of(request)))

    @call(_import_of, name="import_cancel", answer=None, status=204)
    def delete(self, request: Request, row: DataImport) -> None:
        """Cancel an import that is not done; judgments that are stored already stay."""
        run.cancel(row.study, row.pk, request.user)


class StartImport(StudyView):
    scope = "curate"

    @call(_import_of, name="import_start", takes=ImportStart, answer=ImportStatus, status=202)
    def post(self, request: Request, row: DataImport, wanted: dict) -> Any:
        """Import a file that has come whole, read by a recipe, a mapping, or its columns' names.

        Whether they fit the file is known once a worker has read it: see its status.
        """
        wish = {"recipe": wanted.get("recipe", "")}
        if wanted.get("map"):
            wish = asdict(Mapping.from_json({"columns": wanted["map"]}))
        wish |= {"texts": wanted["classes"]} | {n: wanted[n] for n in ("level", "depth")}
        options, known = built(Options, taken(Options, wanted)), built(Known, wanted["provenance"])
        more = {name: wanted[name] for name in ("joins", "encoding")}
        run.request_import(row, wish, options, provenance=known.as_json(), **more)
        tasks.notify(row.pk)
        row.refresh_from_db()
        return row


class Provenances(StudyView):
    @call(policies.candidate.may_read, name="provenances", answer=KnownOfStudy, many=True)
    def get(self, request: Request, study: Study) -> Any:
        """What is known of where a study's imported rows and judgments come from."""
        return [{"id": row.pk, **row.as_json()} for row in study.provenances.order_by("pk")]
