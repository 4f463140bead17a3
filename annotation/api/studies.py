"""Studies and their people, tasks and batches over HTTP."""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.api.base import StudyView, call, shown, validated
from annotation.api.bodies import serializer_of
from annotation.api.http import page_since
from annotation.api.judging import KIND_NAMES
from annotation.api.rows import PAGES, RowsPage
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.judging.batches.open import (
    Opening,
    close_batch,
    open_batches,
    reopen_batch,
    tasks_of,
)
from annotation.judging.batches.preparation import summary_of
from annotation.judging.curator import definition, removal
from annotation.judging.imports import bundles
from annotation.judging.models import Batch, Item
from annotation.studies import members, survey
from annotation.studies.access import may_create, member_of
from annotation.studies.models import (
    Invitation,
    Role,
    Study,
    TaskDefinition,
)
from annotation.studies.schemas import Invite, NewStudy, NewTask, Settings

# What can be taken back, and the field that names it.
NAMES_OF = {
    "query": "external_id",
    "answer": "external_id",
    "attribute": "external_id",
    "task": "name",
    "batch": "pk",
}


class StudySerializer(serializers.ModelSerializer):
    role = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = Study
        fields = ["slug", "title", "description", "languages", "status", "role"]
        read_only_fields = fields


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


class TaskBody(serializer_of(NewTask)):  # type: ignore[misc] # made of the schema
    kind = serializers.ChoiceField(
        choices=KIND_NAMES, required=False, help_text="May be left out of own questions."
    )
    preset = serializers.ChoiceField(
        choices=KIND_NAMES, required=False, help_text="Another word for `kind`."
    )
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


class Studies(StudyView, ListAPIView):
    """The studies you are a member of."""

    scope = "admin"
    serializer_class = StudySerializer

    def get_queryset(self) -> QuerySet[Study]:
        return Study.objects.visible_to(self.request.user).with_membership(self.request.user)

    @call(answer=StudySerializer, many=True, also=("cursor", "page_size"))
    def get(self, request: Request) -> Response:
        """The studies you are a member of."""
        return self.list(request)

    @call(request=StudyBody, answer=StudySerializer, status=201, key=True)
    def post(self, request: Request) -> Any:
        """Make a study, of a whole definition where the body has `tasks`; you administer it."""
        if not may_create(request.user):
            raise PermissionDenied
        if isinstance(request.data.get("tasks"), list):
            return _administered(definition.make(dict(request.data), request.user))
        fields = validated(StudyBody, request.data)
        fields["languages"] = fields["languages"] or ["en"]
        return _administered(members.create_study(fields, request.user))


def _administered(study: Study) -> Study:
    """A study that was just made, with its maker's role."""
    study.role = Role.ADMINISTRATOR
    return study


class OneStudy(StudyView):
    scope = "admin"

    @call(policies.study.may_open, answer=StudySerializer)
    def get(self, request: Request, study: Study) -> Any:
        """A study that you are a member of."""
        return study

    @call(policies.study.may_administer, takes=StudyChange, partial=True, answer=StudySerializer)
    def patch(self, request: Request, study: Study, wanted: dict) -> Any:
        """Change title or description, open or close the study; what is left out stays."""
        with transaction.atomic():
            if status := wanted.pop("status", ""):
                members.change_status(study, status, request.user)
            if wanted:
                members.change_settings(study, wanted, request.user)
        return study

    @call(policies.study.may_administer, answer=RemovalDone)
    def delete(self, request: Request, study: Study) -> Any:
        """Delete the study, or close it where people have judged in it or it has releases."""
        return asdict(removal.remove(study, "study", study, by=request.user))


class Tasks(StudyView):
    @call(policies.task.may_read, answer=RowsPage)
    def get(self, request: Request, study: Study) -> Any:
        """The newest version of each task."""
        newest = {task.name: task for task in study.tasks.order_by("version")}
        return {"results": [_task(task) for task in newest.values()]}

    @call(policies.task.may_change, takes=TaskBody, answer=dict, status=201, key=True)
    def post(self, request: Request, study: Study, fields: dict) -> Any:
        """Define a task; one that differs from the newest of its name is a new version."""
        return _task(bundles.define_task(study, fields.pop("settings") | fields, request.user))


def _task(task: TaskDefinition) -> dict:
    return shown(task, "name", "kind", "version", "overlap", "guideline", settings="config")


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

    @call(policies.study.may_open, answer=dict)
    def get(self, request: Request, study: Study) -> Any:
        """What people are asked about themselves; administrators see what a release tells."""
        by_people = policies.study.may_administer(member_of(request.user, study))
        return survey.as_json(study, by_people=by_people)

    @call(policies.study.may_administer, takes=SurveyBody, answer=dict)
    def put(self, request: Request, study: Study, body: dict) -> Any:
        """Ask other questions from now on; none ends the survey."""
        questions = survey.read_questions(body["questions"])
        survey.publish(study, questions, body["consent"], by=request.user)
        return survey.as_json(study, by_people=True)

    @call(policies.judgment.may_give, takes=SurveyAnswers, answer=SurveyAnswers)
    def post(self, request: Request, study: Study, body: dict) -> Any:
        """Answer the survey, which agrees to its consent text."""
        asked = survey.current(study)
        if asked is None:
            raise DomainError("This study asks nothing about you.", code="survey")
        survey.answer(asked, request.user, body["answers"])
        return body

    @call(policies.judgment.may_give, answer=None, status=204)
    def delete(self, request: Request, study: Study) -> None:
        """Take back what one said."""
        survey.take_back(study, request.user)


class Members(StudyView):
    scope = "admin"

    @call(policies.member.may_manage, parameters=PAGES, answer=RowsPage)
    def get(self, request: Request, study: Study) -> Any:
        """Who is a member, with role; for administrators."""
        standing = study.memberships.filter(left_at=None).select_related("user")
        paths = {"email": "user.email", "name": "user.name"}
        return page_since(request, standing, lambda row: shown(row, "role", "joined_at", **paths))

    @call(policies.member.may_manage, takes=MemberBody, answer=MemberBody)
    def put(self, request: Request, study: Study, body: dict) -> Any:
        """Give a member another role, or end the membership."""
        standing = study.memberships.filter(left_at=None, user__email__iexact=body["email"])
        members.change_role(get_object_or_404(standing), body["role"] or "", request.user)
        return body


class Invitations(StudyView):
    scope = "admin"

    @call(policies.member.may_manage, parameters=PAGES, answer=RowsPage)
    def get(self, request: Request, study: Study) -> Any:
        """The invitations that somebody can still accept, without their links."""
        rows = members.valid_invitations().filter(study=study)
        names = ("id", "role", "email", "expires_at")
        return page_since(request, rows, lambda row: shown(row, *names))

    @call(policies.member.may_manage, takes=Invite, answer=dict, status=201)
    def post(self, request: Request, study: Study, wanted: Invite) -> Any:
        """Make a link that lets one person join; it is shown only once."""
        with transaction.atomic():
            invitation, key = Invitation.issue(study, **asdict(wanted), by=request.user)
            audit.record(request.user, "invitation.issue", invitation, role=invitation.role)
        link = request.build_absolute_uri(reverse("invitation", args=[key]))
        return {"link": link, **shown(invitation, "id", "role", "expires_at")}


class OneInvitation(StudyView):
    scope = "admin"

    @call(policies.member.may_manage, answer=None, status=204)
    def delete(self, request: Request, study: Study, pk: int) -> None:
        """Revoke an invitation that nobody has accepted."""
        members.revoke(study, pk, request.user)


class Batches(StudyView):
    @call(policies.batch.may_read, parameters=PAGES, answer=RowsPage)
    def get(self, request: Request, study: Study) -> Any:
        """The study's batches with their progress."""
        work = _counted(Batch.objects.filter(study=study, purpose=Batch.Purpose.WORK))
        return page_since(request, work, _batch)

    @call(
        policies.batch.may_change,
        takes=Opening,
        responses={200: dict, 201: dict},
        status=201,
        key=True,
    )
    def post(self, request: Request, study: Study, body: Opening) -> Any:
        """Open a batch of what the task asks about and lacks, or say what it would be."""
        tasks, wanted = tasks_of(study, [body.task, *body.also]), body.wanted
        if body.dry_run:
            return Response(asdict(summary_of(study, tasks, **wanted)))
        batches = open_batches(study, tasks, by=request.user, **wanted)
        if not batches:
            sentence = "There is nothing new to judge: add queries or answers first."
            raise DomainError(sentence, code="nothing_new", status=409)
        ids = [batch.pk for batch in batches]
        first, *others = map(_batch, _counted(Batch.objects.filter(pk__in=ids)).order_by("pk"))
        return first | ({"also": others} if others else {})


class Clones(StudyView):
    scope = "admin"

    @call(policies.study.may_administer, name="definition")
    def get(self, request: Request, study: Study) -> Any:
        """The study's definition: what `study.json` of a bundle has."""
        return definition.definition_of(study)

    @call(
        policies.study.may_administer,
        name="clone",
        takes=definition.Clone,
        answer=StudySerializer,
        status=201,
        key=True,
    )
    def post(self, request: Request, study: Study, wanted: definition.Clone) -> Any:
        """Begin a study as this one is, with the `parts` that are named."""
        return _administered(definition.clone(study, wanted, by=request.user))


class Removals(StudyView):
    @call(policies.study.may_curate, takes=RemovalBody, answer=RemovalDone)
    def post(self, request: Request, study: Study, body: dict) -> Any:
        """Delete a thing of the study, or put it aside where people have judged it."""
        what, fields = body["what"], {NAMES_OF[body["what"]]: body["id"]}
        if what == "attribute":
            fields["persona__external_id"] = body["persona"]
        thing = removal.thing_of(study, what, **fields)
        if body["dry_run"]:
            return asdict(removal.look(study, what, thing))
        return asdict(removal.remove(study, what, thing, by=request.user))


class CloseBatch(StudyView):
    @call(policies.batch.may_change, answer=None, status=204)
    def post(self, request: Request, study: Study, batch: int) -> None:
        """Hand out nothing more of a batch."""
        close_batch(get_object_or_404(Batch, study=study, pk=batch), by=request.user)


class ReopenBatch(StudyView):
    @call(policies.batch.may_change, answer=None, status=204)
    def post(self, request: Request, study: Study, batch: int) -> None:
        """Hand out again what a closed batch still lacks."""
        reopen_batch(get_object_or_404(Batch, study=study, pk=batch), by=request.user)


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
    fields = shown(batch, "id", "judgments", "wanted", task="task.name", items="size")
    return fields | {"closed": batch.closed_at is not None}
