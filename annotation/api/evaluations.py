"""Models on a release over HTTP: ask for a run, see how it stands and what came out."""

from dataclasses import asdict
from functools import partial
from uuid import UUID

from django.db import transaction
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotation import policies
from annotation.agreement.board import CAP
from annotation.api.base import KEY, StudyView, once, validated
from annotation.api.releases import release_for
from annotation.core.schema import serializer_of
from annotation.evaluation import draws, estimates, groups, raters, runs, systems, tasks
from annotation.evaluation.models import Draw, Run
from annotation.live import settings
from annotation.live.settings import Live
from annotation.studies.access import study_for
from annotation.studies.models import Study

NEWEST = 200


class SystemAnswer(serializers.Serializer):
    user = serializers.CharField()
    query = serializers.CharField(help_text="The query's id in the release, or its text.")
    text = serializers.CharField(trim_whitespace=False)


class EvaluationRequest(serializer_of(systems.Measurement)):  # type: ignore[misc]
    """``system`` with ``answers``, or ``generate`` in place of these: the model judges them."""

    answers = SystemAnswer(many=True, default=list)


class EvaluationStatus(serializers.Serializer):
    id = serializers.UUIDField(source="public_id")
    model = serializers.CharField()
    setting = serializers.CharField()
    system = serializers.CharField()
    context = serializers.CharField()
    kind = serializers.ChoiceField(choices=Run.Kind.values)
    status = serializers.ChoiceField(choices=Run.Status.values)
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    result = serializers.JSONField(allow_null=True)
    url = serializers.SerializerMethodField()

    def get_url(self, run: Run) -> str:
        address = reverse("api-evaluation", args=[run.public_id])
        return self.context["request"].build_absolute_uri(address)


class EvaluationsOfRelease(StudyView):
    @extend_schema(responses=EvaluationStatus(many=True), operation_id="evaluation_list")
    def get(self, request: Request, pk: UUID) -> Response:
        """The newest runs of models on the release, newest first."""
        release = release_for(request.user, pk, policies.run.may_read)
        rows = Run.objects.filter(benchmark__release=release).order_by("-created_at", "-pk")
        shown = EvaluationStatus(rows[:NEWEST], many=True, context={"request": request})
        return Response(shown.data)

    @extend_schema(
        parameters=[KEY],
        request=EvaluationRequest,
        responses={202: EvaluationStatus},
        operation_id="evaluation_request",
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Ask a configured endpoint about all of the release; workers carry it out.

        With ``system`` and ``answers`` its model judges that system's answers to the queries, with
        ``generate`` those that ``writer`` writes first from the release alone.
        """
        release = release_for(request.user, pk, policies.run.may_start)
        values = validated(EvaluationRequest, request.data)
        answers = systems.of_rows(values.pop("answers"))
        asked = systems.Measurement(**values)

        def start() -> tuple[int, dict]:
            wanted = runs.of_release(release, asked, answers)
            run = runs.start(wanted, by=request.user, background=True)
            transaction.on_commit(partial(tasks.notify, run.pk))
            return 202, EvaluationStatus(run, context={"request": request}).data

        answer = once(request, start)
        answer["Location"] = answer.data["url"]
        return answer


class EvaluationDetail(APIView):
    permission_classes = [IsAuthenticated]

    @extend_schema(responses=EvaluationStatus, operation_id="evaluation_status")
    def get(self, request: Request, pk: UUID) -> Response:
        """How a run stands; with its result when it is done, and the reason when it stopped."""
        visible = Study.objects.visible_to(request.user)
        rows = Run.objects.select_related("benchmark__release__study")
        run = get_object_or_404(rows.filter(benchmark__release__study__in=visible), public_id=pk)
        study = runs.study_of(run)
        study_for(request.user, study.slug if study else "", policies.run.may_read)
        return Response(EvaluationStatus(run, context={"request": request}).data)


class RatingRequest(serializer_of(raters.Rating)):  # type: ignore[misc]
    dry_run = serializers.BooleanField(default=False)


class RatingStatus(serializers.Serializer):
    id = serializers.UUIDField(source="public_id")
    model = serializers.CharField()
    task = serializers.CharField()
    status = serializers.ChoiceField(choices=Run.Status.values)
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    result = serializers.JSONField(allow_null=True)


class Estimated(serializers.Serializer):
    """What a task's votes say of one of its questions, for each model that judged its items."""

    task = serializers.CharField()
    question = serializers.CharField()
    questions = serializers.ListField(child=serializers.CharField())
    capped = serializers.BooleanField(help_text="Only the first items' votes were read.")
    quantities = serializers.ListField(
        child=serializers.JSONField(),
        help_text="name; people, combined (with n_effective and lambda) and model, as values with "
        "their intervals; model alone is biased and has none.",
    )
    alternatives = serializers.ListField(
        child=serializers.JSONField(),
        help_text="The alternative annotator test of each model: omega, rho and whether it passed.",
    )
    agreements = serializers.ListField(
        child=serializers.JSONField(),
        help_text="How often each model says what single people say, of all items and by tier.",
    )


RoundBody = serializer_of(draws.Round, title="RoundBody")


class DrawStatus(serializers.ModelSerializer):
    class Meta:
        model = Draw
        exclude = ("study", "by")


OF_QUESTION = [
    OpenApiParameter("task", str, required=True),
    OpenApiParameter("question", str, description="by default the task's first"),
]


class Estimates(StudyView):
    parameters = ("task", "question")

    @extend_schema(
        parameters=OF_QUESTION,
        responses=Estimated,
        operation_id="estimates",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Shares, means, strengths and accuracy by people, by people and model, by the model."""
        study = study_for(request.user, slug, policies.run.may_read)
        asked = request.query_params
        result = estimates.estimates(study, asked.get("task", ""), asked.get("question", ""), CAP)
        return Response(estimates.as_json(result))


class Groups(StudyView):
    parameters = ("task", "question")

    @extend_schema(
        parameters=OF_QUESTION,
        responses=dict,
        operation_id="groups",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Agreement, preferences and scores by what people said of themselves."""
        study = study_for(request.user, slug, policies.result.may_read)
        asked = request.query_params
        result = groups.groups(study, asked.get("task", ""), asked.get("question", ""), CAP)
        return Response({"results": [asdict(group) for group in result]})


class Draws(StudyView):
    """Rounds in which items are drawn for people's votes, of those that models have judged."""

    @extend_schema(responses=DrawStatus(many=True), operation_id="draw_list")
    def get(self, request: Request, slug: str) -> Response:
        """The rounds, newest first."""
        study = study_for(request.user, slug, policies.run.may_read)
        return Response(DrawStatus(study.draws.order_by("-pk")[:NEWEST], many=True).data)

    @extend_schema(
        parameters=[KEY],
        request=RoundBody,
        responses={201: DrawStatus},
        operation_id="draw_votes",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Draw items of a task and open their slots."""
        study = study_for(request.user, slug, policies.batch.may_change)
        wanted = draws.Round(**validated(RoundBody, request.data))

        def act() -> tuple[int, dict]:
            return 201, DrawStatus(draws.draw(study, wanted, request.user)).data

        return once(request, act)


class ModelRaters(StudyView):
    """Models that judge the items of a study; their verdicts are no votes."""

    @extend_schema(responses=RatingStatus(many=True), operation_id="model_rater_list")
    def get(self, request: Request, slug: str) -> Response:
        """The newest runs, newest first: verdicts, replies that name no label, contradictions."""
        study = study_for(request.user, slug, policies.run.may_read)
        return Response(RatingStatus(raters.runs_of(study), many=True).data)

    @extend_schema(
        parameters=[KEY],
        request=RatingRequest,
        responses={202: RatingStatus},
        operation_id="model_rater_request",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let a model judge the items of a task; with ``dry_run`` only what it would take.

        Where an item has several answers it is asked in both orders. Workers carry it out.
        """
        study = study_for(request.user, slug, policies.run.may_start)
        asked = validated(RatingRequest, request.data)
        dry_run, asked = asked.pop("dry_run"), raters.Rating(**asked)
        if dry_run:
            return Response(runs.rating(study, asked).expected)

        def start() -> tuple[int, dict]:
            run = runs.start(runs.rating(study, asked), by=request.user, background=True)
            transaction.on_commit(partial(tasks.notify, run.pk))
            return 202, RatingStatus(run).data

        return once(request, start)


LiveBody = serializer_of(Live, title="LiveBody")


class LiveComparison(StudyView):
    """How people of a study talk with hidden models at once."""

    @extend_schema(responses=LiveBody, operation_id="live")
    def get(self, request: Request, slug: str) -> Response:
        """The settings; an empty object where nobody talks."""
        live = settings.of_study(study_for(request.user, slug, policies.task.may_change))
        return Response(asdict(live) if live else {})

    @extend_schema(request=LiveBody, responses=LiveBody, operation_id="live_save")
    def put(self, request: Request, slug: str) -> Response:
        """Let people talk by these settings from now on; a study that is a draft opens."""
        study = study_for(request.user, slug, policies.task.may_change)
        settings.save(study, Live(**validated(LiveBody, request.data)), by=request.user)
        return Response(study.live)

    @extend_schema(responses={204: None}, operation_id="live_end")
    def delete(self, request: Request, slug: str) -> Response:
        """Let nobody begin a conversation from now on."""
        settings.save(study_for(request.user, slug, policies.task.may_change), None,
                      by=request.user)  # fmt: skip
        return Response(status=204)
