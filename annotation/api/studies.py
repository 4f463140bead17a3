"""Studies and their people, tasks and batches over HTTP."""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.base import KEY, StudyView, once, validated
from annotation.api.http import Since
from annotation.api.rows import PAGES, RowsPage
from annotation.api.serializers import KIND_NAMES, StudySerializer
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.core.schema import built, serializer_of, taken
from annotation.judging.batches.open import Opening, close_batch, open_batches, tasks_of
from annotation.judging.batches.summary import summary_of
from annotation.judging.curator import definition, removal
from annotation.judging.imports import bundles
from annotation.judging.kinds import kind_of
from annotation.judging.models import Batch, Item
from annotation.studies import members, survey
from annotation.studies.access import may_create, member_of, study_for
from annotation.studies.bundle import Task
from annotation.studies.bundle_rows import OVERLAP_LIMIT
from annotation.studies.models import SLUG_LIMIT, Invitation, Role, Study, TaskDefinition
from annotation.studies.schemas import Invite, NewStudy, Settings

# What can be taken back, and the field that names it.
NAMES_OF = {
    "query": "external_id",
    "answer": "external_id",
    "attribute": "external_id",
    "task": "name",
    "batch": "pk",
}


class StudyBody(serializer_of(NewStudy)):  # type: ignore[misc] # made of the schema
    def validate_slug(self, slug: str) -> str:
        """Refuse an address that is taken or is the name of a page."""
        try:
            bundles.check_slug(slug)
        except DomainError as refusal:
            raise serializers.ValidationError(refusal.sentence) from refusal
        if Study.objects.filter(slug=slug).exists():
            raise serializers.ValidationError("there is a study of this address already")
        return slug


class TaskBody(serializers.Serializer):
    name = serializers.SlugField(max_length=SLUG_LIMIT)
    kind = serializers.ChoiceField(choices=KIND_NAMES)
    overlap = serializers.IntegerField(min_value=1, max_value=OVERLAP_LIMIT, default=9)
    guideline = serializers.CharField(default="", allow_blank=True, max_length=100_000)
    settings = serializers.DictField(default=dict, help_text="As in a bundle's study.json.")


class StudyChange(serializer_of(Settings)):  # type: ignore[misc] # made of the schema
    """What is left out stays."""

    status = serializers.ChoiceField(
        choices=Study.Status.values, required=False, help_text="Work is handed out while open."
    )


class MemberBody(serializers.Serializer):
    email = serializers.EmailField()
    role = serializers.ChoiceField(
        choices=Role.values, allow_null=True, help_text="null ends the membership"
    )


InvitationBody = serializer_of(Invite, title="InvitationBody")
CloneBody = serializer_of(definition.Clone, title="CloneBody")
BatchBody = serializer_of(Opening, title="BatchBody")


def create_study(request: Request) -> Response:
    """Make a study, of a whole definition where the body has `tasks`."""
    if not may_create(request.user):
        raise PermissionDenied
    if isinstance(request.data.get("tasks"), list):
        return once(request, lambda: (201, _of_definition(request)))
    fields = validated(StudyBody, request.data)
    fields["languages"] = fields["languages"] or ["en"]

    def create() -> tuple[int, dict]:
        study = members.create_study(fields, request.user)
        study.role = Role.ADMINISTRATOR
        return 201, StudySerializer(study).data

    return once(request, create)


def _of_definition(request: Request) -> dict:
    """The study of a whole definition, as ``GET …/clone/`` gives it."""
    study = definition.make(dict(request.data), request.user)
    study.role = Role.ADMINISTRATOR
    return StudySerializer(study).data


def change_study(request: Request, slug: str) -> Response:
    """Change title or description, open or close the study; what is left out stays."""
    study = study_for(request.user, slug, policies.study.may_administer)
    fields = validated(StudyChange, request.data, partial=True)
    with transaction.atomic():
        if status := fields.pop("status", ""):
            members.change_status(study, status, request.user)
        if fields:
            members.change_settings(study, fields, request.user)
    return Response(StudySerializer(study).data)


def remove_study(request: Request, slug: str) -> Response:
    """Delete the study, or close it where people have judged in it or it has releases."""
    study = study_for(request.user, slug, policies.study.may_administer)
    return Response(asdict(removal.remove(study, "study", study, by=request.user)))


class Tasks(StudyView):
    @extend_schema(responses=RowsPage)
    def get(self, request: Request, slug: str) -> Response:
        """The newest version of each task."""
        study = study_for(request.user, slug, policies.task.may_read)
        newest = {task.name: task for task in study.tasks.order_by("version")}
        return Response({"results": [_task(task) for task in newest.values()]})

    @extend_schema(parameters=[KEY], request=TaskBody, responses={201: dict})
    def post(self, request: Request, slug: str) -> Response:
        """Define a task; one that differs from the newest of its name is a new version."""
        study = study_for(request.user, slug, policies.task.may_change)
        fields = validated(TaskBody, request.data)
        config = kind_of(fields["kind"]).check_config(fields.pop("settings"))

        def define() -> tuple[int, dict]:
            with transaction.atomic():
                bundles.store_task(study, Task(config=config, **fields))
                task = study.tasks.filter(name=fields["name"]).order_by("-version")[0]
                audit.record(request.user, "task.define", task, version=task.version)
            return 201, _task(task)

        return once(request, define)


def _task(task: TaskDefinition) -> dict:
    names = ("name", "kind", "version", "overlap", "guideline")
    return {name: getattr(task, name) for name in names} | {"settings": task.config}


class SurveyBody(serializers.Serializer):
    questions = serializers.CharField(
        allow_blank=True, max_length=50_000, help_text="One a line: question | choice | choice."
    )
    consent = serializers.CharField(default="", allow_blank=True, max_length=50_000)


class SurveyAnswers(serializers.Serializer):
    answers = serializers.DictField(
        child=serializers.CharField(allow_blank=True), help_text="By question; none skips it."
    )


class StudySurvey(StudyView):
    @property
    def scope(self) -> str:
        """An annotator's answers are no settings."""
        return "admin" if self.request.method == "PUT" else "judge"

    @extend_schema(responses=dict)
    def get(self, request: Request, slug: str) -> Response:
        """What people are asked about themselves; administrators see what a release tells."""
        study = study_for(request.user, slug, policies.study.may_open)
        by_people = policies.study.may_administer(member_of(request.user, study))
        return Response(survey.as_json(study, by_people=by_people))

    @extend_schema(request=SurveyBody, responses=dict)
    def put(self, request: Request, slug: str) -> Response:
        """Ask other questions from now on; none ends the survey."""
        study = study_for(request.user, slug, policies.study.may_administer)
        body = validated(SurveyBody, request.data)
        questions = survey.read_questions(body["questions"])
        survey.publish(study, questions, body["consent"], by=request.user)
        return Response(survey.as_json(study, by_people=True))

    @extend_schema(request=SurveyAnswers, responses=SurveyAnswers)
    def post(self, request: Request, slug: str) -> Response:
        """Answer the survey, which agrees to its consent text."""
        study = study_for(request.user, slug, policies.judgment.may_give)
        body = validated(SurveyAnswers, request.data)
        asked = survey.current(study)
        if asked is None:
            raise DomainError("This study asks nothing about you.", code="survey")
        survey.answer(asked, request.user, body["answers"])
        return Response(body)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str) -> Response:
        """Take back what one said."""
        study = study_for(request.user, slug, policies.judgment.may_give)
        survey.take_back(study, request.user)
        return Response(status=204)


class Members(StudyView):
    scope = "admin"
    parameters = Since.PARAMETERS

    @extend_schema(parameters=PAGES, responses=RowsPage)
    def get(self, request: Request, slug: str) -> Response:
        """Who is a member, with role; for administrators."""
        study = study_for(request.user, slug, policies.member.may_manage)
        standing = study.memberships.filter(left_at=None).select_related("user")
        page, place = Since().page(request, standing)
        rows = [
            {"email": m.user.email, "name": m.user.name, "role": m.role, "joined_at": m.joined_at}
            for m in page
        ]
        return Response({"results": rows, **place})

    @extend_schema(request=MemberBody, responses=MemberBody)
    def put(self, request: Request, slug: str) -> Response:
        """Give a member another role, or end the membership."""
        study = study_for(request.user, slug, policies.member.may_manage)
        body = validated(MemberBody, request.data)
        standing = study.memberships.filter(left_at=None, user__email__iexact=body["email"])
        members.change_role(get_object_or_404(standing), body["role"] or "", request.user)
        return Response(body)


class Invitations(StudyView):
    scope = "admin"
    parameters = Since.PARAMETERS

    @extend_schema(parameters=PAGES, responses=RowsPage)
    def get(self, request: Request, slug: str) -> Response:
        """The invitations that somebody can still accept, without their links."""
        study = study_for(request.user, slug, policies.member.may_manage)
        page, place = Since().page(request, members.valid_invitations().filter(study=study))
        names = ("id", "role", "email", "expires_at")
        rows = [{name: getattr(row, name) for name in names} for row in page]
        return Response({"results": rows, **place})

    @extend_schema(request=InvitationBody, responses={201: dict})
    def post(self, request: Request, slug: str) -> Response:
        """Make a link that lets one person join; it is shown only once."""
        study = study_for(request.user, slug, policies.member.may_manage)
        body = validated(InvitationBody, request.data)
        with transaction.atomic():
            wanted = built(Invite, body)
            invitation, key = Invitation.issue(study, **asdict(wanted), by=request.user)
            audit.record(request.user, "invitation.issue", invitation, role=invitation.role)
        link = request.build_absolute_uri(reverse("invitation", args=[key]))
        names = ("id", "role", "expires_at")
        answer = {name: getattr(invitation, name) for name in names}
        return Response({"link": link, **answer}, status=201)


class OneInvitation(StudyView):
    scope = "admin"

    @extend_schema(responses={204: None})
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Revoke an invitation that nobody has accepted."""
        members.revoke(study_for(request.user, slug, policies.member.may_manage), pk, request.user)
        return Response(status=204)


class Batches(StudyView):
    parameters = Since.PARAMETERS

    @extend_schema(parameters=PAGES, responses=RowsPage)
    def get(self, request: Request, slug: str) -> Response:
        """The study's batches with their progress."""
        study = study_for(request.user, slug, policies.batch.may_read)
        work = _counted(Batch.objects.filter(study=study, purpose=Batch.Purpose.WORK))
        page, place = Since().page(request, work)
        return Response({"results": [_batch(batch) for batch in page], **place})

    @extend_schema(parameters=[KEY], request=BatchBody, responses={200: dict, 201: dict})
    def post(self, request: Request, slug: str) -> Response:
        """Open a batch of what the task asks about and lacks, or say what it would be."""
        study = study_for(request.user, slug, policies.batch.may_change)
        body = Opening(**taken(Opening, validated(BatchBody, request.data)))
        tasks, wanted = tasks_of(study, [body.task, *body.also]), body.wanted
        if body.dry_run:
            return Response(asdict(summary_of(study, tasks, **wanted)))

        def open_() -> tuple[int, dict]:
            batches = open_batches(study, tasks, by=request.user, **wanted)
            if not batches:
                sentence = "There is nothing new to judge: add queries or answers first."
                raise DomainError(sentence, code="nothing_new", status=409)
            ids = [batch.pk for batch in batches]
            counted = _counted(Batch.objects.filter(pk__in=ids)).order_by("pk")
            first, *others = map(_batch, counted)
            return 201, first | ({"also": others} if others else {})

        return once(request, open_)


class Clones(StudyView):
    scope = "admin"

    @extend_schema(responses=OpenApiTypes.OBJECT, operation_id="definition")
    def get(self, request: Request, slug: str) -> Response:
        """The study's definition: what `study.json` of a bundle has."""
        study = study_for(request.user, slug, policies.study.may_administer)
        return Response(definition.definition_of(study))

    @extend_schema(
        parameters=[KEY], request=CloneBody, responses={201: StudySerializer}, operation_id="clone"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Begin a study as this one is, with the `parts` that are named."""
        study = study_for(request.user, slug, policies.study.may_administer)
        wanted = built(definition.Clone, validated(CloneBody, request.data))

        def act() -> tuple[int, dict]:
            made = definition.clone(study, wanted, by=request.user)
            made.role = Role.ADMINISTRATOR
            return 201, StudySerializer(made).data

        return once(request, act)


class RemovalBody(serializers.Serializer):
    what = serializers.ChoiceField(choices=list(NAMES_OF))
    id = serializers.CharField(max_length=200, help_text="As in the lists; of a task its name.")
    persona = serializers.CharField(
        max_length=200, default="", allow_blank=True, help_text="Of an attribute."
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="Answer what would be done, and do nothing."
    )


class RemovalDone(serializers.Serializer):
    what = serializers.CharField()
    name = serializers.CharField()
    deletes = serializers.BooleanField(help_text="false: people judged it, so it is put aside")
    sentences = serializers.ListField(child=serializers.CharField())


class Removals(StudyView):
    @extend_schema(request=RemovalBody, responses=RemovalDone)
    def post(self, request: Request, slug: str) -> Response:
        """Delete a thing of the study, or put it aside where people have judged it."""
        study = study_for(request.user, slug, policies.study.may_curate)
        body = validated(RemovalBody, request.data)
        what, fields = body["what"], {NAMES_OF[body["what"]]: body["id"]}
        if what == "attribute":
            fields["persona__external_id"] = body["persona"]
        thing = removal.thing_of(study, what, **fields)
        if body["dry_run"]:
            return Response(asdict(removal.look(study, what, thing)))
        return Response(asdict(removal.remove(study, what, thing, by=request.user)))


class CloseBatch(StudyView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, batch: int) -> Response:
        """Hand out nothing more of a batch."""
        study = study_for(request.user, slug, policies.batch.may_change)
        close_batch(get_object_or_404(Batch, study=study, pk=batch), by=request.user)
        return Response(status=204)


def _counted(batches: QuerySet) -> QuerySet:
    """Batches with ``judgments``, made, of ``wanted``."""
    items = Item.objects.originals().filter(batch=OuterRef("pk")).values("batch")
    sums = {"judgments": Sum("done"), "wanted": Sum("overlap")}
    counts = {
        name: Coalesce(Subquery(items.annotate(total=total).values("total")), 0)
        for name, total in sums.items()
    }
    return batches.select_related("task").annotate(**counts)


def _batch(batch: Any) -> dict:
    return {
        "id": batch.pk,
        "task": batch.task.name,
        "items": batch.size,
        "judgments": batch.judgments,
        "wanted": batch.wanted,
        "closed": batch.closed_at is not None,
    }
