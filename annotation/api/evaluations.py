"""Models on a release over HTTP: ask for a run, see how it stands and what came out."""

from dataclasses import asdict
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.shortcuts import get_object_or_404
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.accounts.models import User
from annotation.agreement.board import CAP
from annotation.api.base import AddressField, StudyView, call
from annotation.api.bodies import serializer_of
from annotation.api.releases import of_release
from annotation.datasets.models import Release
from annotation.evaluation import draws, estimates, raters, runs, systems, tasks
from annotation.evaluation.models import Draw, Run
from annotation.live import settings
from annotation.live.settings import Live
from annotation.studies.access import study_for
from annotation.studies.models import Study
from annotation.votes import counting

NEWEST = 200


class SystemAnswer(serializers.Serializer):
    user = serializers.CharField()
    query = serializers.CharField(help_text="The query's id in the release, or its text.")
    text = serializers.CharField(trim_whitespace=False)


class EvaluationRequest(serializer_of(systems.Measurement)):  # type: ignore[misc]
    """``system`` with ``answers``, or ``generate`` in place of these: the model judges them."""

    answers = SystemAnswer(many=True, default=list)


class EvaluationStatus(serializers.ModelSerializer):
    id = serializers.UUIDField(source="public_id")
    url = AddressField("api-evaluation", "public_id")

    class Meta:
        model = Run
        fields = (
            *("id", "model", "setting", "system", "context", "kind", "status", "error"),
            *("created_at", "finished_at", "result", "url"),
        )
        read_only_fields = fields


class EvaluationsOfRelease(StudyView):
    @call(
        of_release(policies.run.may_read),
        name="evaluation_list",
        answer=EvaluationStatus,
        many=True,
    )
    def get(self, request: Request, release: Release) -> Any:
        """The newest runs of models on the release, newest first."""
        rows = Run.objects.filter(benchmark__release=release).order_by("-created_at", "-pk")
        return rows[:NEWEST]

    @call(
        of_release(policies.run.may_start),
        name="evaluation_request",
        takes=EvaluationRequest,
        answer=EvaluationStatus,
        status=202,
        key=True,
        location="url",
    )
    def post(self, request: Request, release: Release, values: dict) -> Any:
        """Ask a configured endpoint about all of the release; workers carry it out.

        With ``system`` and ``answers`` its model judges that system's answers to the queries, with
        ``generate`` those that ``writer`` writes first from the release alone.
        """
        answers = systems.of_rows(enumerate(values.pop("answers"), start=1))
        wanted = runs.of_release(release, systems.Measurement(**values), answers)
        run = runs.start(wanted, by=request.user, background=True)
        transaction.on_commit(partial(tasks.notify, run.pk))
        return run


def _visible_run(user: User, pk: UUID) -> Run:
    """A run on a release of a study that ``user`` may see the runs of; Http404 for any other."""
    rows = Run.objects.select_related("benchmark__release__study")
    visible = Study.objects.visible_to(user)
    run = get_object_or_404(rows.filter(benchmark__release__study__in=visible), public_id=pk)
    study = runs.study_of(run)
    study_for(user, study.slug if study else "", policies.run.may_read)
    return run


class EvaluationDetail(StudyView):
    @call(_visible_run, name="evaluation_status", answer=EvaluationStatus)
    def get(self, request: Request, run: Run) -> Any:
        """How a run stands; with its result when it is done, and the reason when it stopped."""
        return run


class RatingRequest(serializer_of(raters.Rating)):  # type: ignore[misc]
    dry_run = serializers.BooleanField(default=False)


class RatingStatus(serializers.ModelSerializer):
    id = serializers.UUIDField(source="public_id")

    class Meta:
        model = Run
        fields = (
            *("id", "model", "task", "status", "error", "created_at", "finished_at", "result"),
        )
        read_only_fields = fields


class Estimated(serializers.Serializer):
    """What a task's votes say of one of its questions, for each model that judged its items."""

    task = serializers.CharField()
    question = serializers.CharField()
    questions = serializers.ListField(child=serializers.CharField())
    proposals = serializers.JSONField(
        help_text="How many judgments began from a proposal, and whether they are left_out; null "
        "where no form began from one."
    )
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


class DrawStatus(serializers.ModelSerializer):
    class Meta:
        model = Draw
        exclude = ("study", "by")


class OfQuestion(serializers.Serializer):
    task = serializers.CharField()
    question = serializers.CharField(default="", help_text="By default the task's first.")
    without_proposals = serializers.BooleanField(
        default=False, help_text="Leave out judgments that began from a proposal."
    )


class Estimates(StudyView):
    @call(policies.run.may_read, name="estimates", takes=OfQuestion, answer=Estimated)
    def get(self, request: Request, study: Study, of: dict) -> Any:
        """Shares, means, strengths and accuracy by people, by people and model, by the model."""
        named, proposed = (of["task"], of["question"], CAP), not of["without_proposals"]
        return estimates.as_json(estimates.estimates(study, *named, proposed=proposed))


class Groups(StudyView):
    @call(policies.result.may_read, name="groups", takes=OfQuestion, answer=dict)
    def get(self, request: Request, study: Study, of: dict) -> Any:
        """Agreement, preferences and scores by what people said of themselves."""
        task, left_out = of["task"], of["without_proposals"]
        result = estimates.groups(study, task, of["question"], CAP, proposed=not left_out)
        began = counting.proposals(study, task, left_out=left_out)
        return {"results": [asdict(group) for group in result], "proposals": began}


class Draws(StudyView):
    """Rounds in which items are drawn for people's votes, of those that models have judged."""

    @call(policies.run.may_read, name="draw_list", answer=DrawStatus, many=True)
    def get(self, request: Request, study: Study) -> Any:
        """The rounds, newest first."""
        return study.draws.order_by("-pk")[:NEWEST]

    @call(
        policies.batch.may_change,
        name="draw_votes",
        takes=draws.Round,
        answer=DrawStatus,
        status=201,
        key=True,
    )
    def post(self, request: Request, study: Study, wanted: draws.Round) -> Any:
        """Draw items of a task and open their slots."""
        return draws.draw(study, wanted, request.user)


class ModelRaters(StudyView):
    """Models that judge the items of a study; their verdicts are no votes."""

    @call(policies.run.may_read, name="model_rater_list", answer=RatingStatus, many=True)
    def get(self, request: Request, study: Study) -> Any:
        """The newest runs, newest first: verdicts, replies that name no label, contradictions."""
        return raters.runs_of(study)

    @call(
        policies.run.may_start,
        name="model_rater_request",
        takes=RatingRequest,
        answer=RatingStatus,
        status=202,
        key=True,
    )
    def post(self, request: Request, study: Study, asked: dict) -> Any:
        """Let a model judge the items of a task; with ``dry_run`` only what it would take.

        Where an item has several answers it is asked in both orders. Workers carry it out.
        """
        dry_run = asked.pop("dry_run")
        wanted = runs.rating(study, raters.Rating(**asked))
        if dry_run:
            return Response(wanted.expected)
        run = runs.start(wanted, by=request.user, background=True)
        transaction.on_commit(partial(tasks.notify, run.pk))
        return run


class LiveComparison(StudyView):
    """How people of a study talk with hidden models at once."""

    @call(policies.task.may_change, name="live", answer=Live)
    def get(self, request: Request, study: Study) -> Any:
        """The settings; an empty object where nobody talks."""
        live = settings.of_study(study)
        return asdict(live) if live else {}

    @call(policies.task.may_change, name="live_save", takes=Live, answer=Live)
    def put(self, request: Request, study: Study, live: Live) -> Any:
        """Let people talk by these settings from now on; a study that is a draft opens."""
        settings.save_live(study, live, by=request.user)
        return study.live

    @call(policies.task.may_change, name="live_end", answer=None, status=204)
    def delete(self, request: Request, study: Study) -> None:
        """Let nobody begin a conversation from now on."""
        settings.save_live(study, None, by=request.user)
