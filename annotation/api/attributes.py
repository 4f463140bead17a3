"""People from collections of conversations, and attributes of what was extracted, over HTTP."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.base import StudyView, read
from annotation.api.serializers import Share
from annotation.candidates import attributes, verifier
from annotation.personas import conversations
from annotation.studies.access import study_for

MOST = 2**31 - 1


class FiltersBody(serializers.Serializer):
    language = serializers.CharField(default="", allow_blank=True, max_length=40)
    conversations = serializers.IntegerField(default=3, min_value=1, max_value=MOST)
    turns = serializers.IntegerField(default=15, min_value=1, max_value=MOST)
    scripted = serializers.BooleanField(default=False)
    people = serializers.IntegerField(default=50, min_value=1, max_value=MOST, allow_null=True)


class ThresholdsBody(serializers.Serializer):
    confidence = Share(default=attributes.CONFIDENCE)
    similarity = Share(default=attributes.SIMILARITY, min_value=0.3)


class VerifierBody(serializers.Serializer):
    model = serializers.FileField(help_text="The .npz file that `train verifier` wrote.")
    flagged = serializers.ChoiceField(
        choices=verifier.FLAGGED,
        default=verifier.DROP,
        help_text="What becomes of statements that it finds problematic.",
    )


class ConversationsOfStudy(StudyView):
    parameters = ("language", "conversations", "turns", "scripted", "people")

    @extend_schema(parameters=[FiltersBody], responses=OpenApiTypes.OBJECT, operation_id="funnel")
    def get(self, request: Request, slug: str) -> Response:
        """How many people and conversations of the study's pool each filter leaves."""
        study = study_for(request.user, slug, policies.generation.may_run)
        rows = conversations.funnel(study, _filters(request.query_params))
        names = ("filter", "people", "conversations")
        return Response({"funnel": [dict(zip(names, row, strict=True)) for row in rows]})

    @extend_schema(request=FiltersBody, responses=OpenApiTypes.OBJECT, operation_id="take_people")
    def post(self, request: Request, slug: str) -> Response:
        """Make personas of the people whom the filters leave."""
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response(conversations.take(study, _filters(request.data), by=request.user))


class AttributesMade(StudyView):
    parameters = ("confidence", "similarity")

    @extend_schema(
        parameters=[ThresholdsBody], responses=OpenApiTypes.OBJECT, operation_id="preview_clusters"
    )
    def get(self, request: Request, slug: str) -> Response:
        """What thresholds would make of the extracted statements."""
        study = study_for(request.user, slug, policies.generation.may_run)
        preview = attributes.preview(study, _thresholds(request.query_params))
        examples = [[row.wording for row in cluster.members] for cluster in preview["examples"]]
        counts = ("statements", "people", "sampled", "confident", "attributes")
        return Response({name: preview[name] for name in counts} | {"examples": examples})

    @extend_schema(
        request=ThresholdsBody, responses=OpenApiTypes.OBJECT, operation_id="make_attributes"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Make attributes of the extracted statements; what people judge already stays."""
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response(attributes.make(study, _thresholds(request.data), by=request.user))


class AttributesVerified(StudyView):
    parser_classes = [MultiPartParser]

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="unverified")
    def get(self, request: Request, slug: str) -> Response:
        """How many extracted statements nothing verified yet."""
        study = study_for(request.user, slug, policies.generation.may_run)
        return Response({"statements": verifier.unverified(study).count()})

    @extend_schema(
        request={"multipart/form-data": VerifierBody},
        responses=OpenApiTypes.OBJECT,
        operation_id="verify_attributes",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let a trained verifier decide on the extracted statements that nothing verified yet."""
        study = study_for(request.user, slug, policies.generation.may_run)
        body = read(VerifierBody, request.data)
        model, card = verifier.uploaded(body["model"])
        refine = body["flagged"] == verifier.REFINE
        return Response(verifier.verify(study, model, card, refine=refine, by=request.user))


def _filters(data: dict) -> conversations.Filters:
    return conversations.Filters(**read(FiltersBody, data))


def _thresholds(data: dict) -> attributes.Thresholds:
    return attributes.Thresholds(**read(ThresholdsBody, data))
