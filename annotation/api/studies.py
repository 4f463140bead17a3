"""Studies and their people, tasks and batches over HTTP."""

from dataclasses import asdict
from typing import Any

from django.db import transaction
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.base import KEY, StudyView, once
from annotation.api.pagination import Since
from annotation.api.rows import PAGES, RowsPage
from annotation.api.serializers import KIND_NAMES, StudySerializer
from annotation.core import audit
from annotation.core.errors import DomainError
from annotation.judging.batches.open import ORDERS, close_batch, open_batches, tasks_of
from annotation.judging.batches.summary import summary_of
from annotation.judging.imports import bundles
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import Scope
from annotation.judging.models import Batch, Item
from annotation.studies import members
from annotation.studies.access import MANAGERS, READERS, may_create, study_for
from annotation.studies.bundle import Task
from annotation.studies.bundle_rows import OVERLAP_LIMIT
from annotation.studies.models import Invitation, Role, Study, TaskDefinition

ADMINISTRATORS = (Role.ADMINISTRATOR,)
NAMES_LIMIT = 10_000


class StudyBody(serializers.Serializer):
    slug = serializers.RegexField(r"^[a-z0-9][a-z0-9-]*$", max_length=60)
    title = serializers.CharField(max_length=200)
    description = serializers.CharField(default="", allow_blank=True, max_length=20_000)
    languages = serializers.ListField(
        child=serializers.CharField(max_length=35), default=list, max_length=50
    )

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
    name = serializers.SlugField(max_length=60)
    kind = serializers.ChoiceField(choices=KIND_NAMES)
    overlap = serializers.IntegerField(min_value=1, max_value=OVERLAP_LIMIT, default=9)
    guideline = serializers.CharField(default="", allow_blank=True, max_length=100_000)
    settings = serializers.DictField(default=dict, help_text="As in a bundle's study.json.")


class InvitationBody(serializers.Serializer):
    role = serializers.ChoiceField(choices=Role.values)
    email = serializers.EmailField(default="", allow_blank=True)


class Names(serializers.ListField):
    """Ids or names that a batch keeps to; none of them: to all."""

    child = serializers.CharField(max_length=200)

    def __init__(self, **options: Any) -> None:
        super().__init__(default=list, max_length=NAMES_LIMIT, **options)


class BatchBody(serializers.Serializer):
    task = serializers.SlugField(max_length=60)
    also = Names(help_text="Names of further tasks, of which a batch each is opened with it.")
    order = serializers.ChoiceField(
        choices=list(ORDERS),
        default="task",
        help_text="Between the tasks: one after the other, question by question, or at random.",
    )
    overlap = serializers.IntegerField(min_value=1, max_value=OVERLAP_LIMIT, required=False)
    queries = Names(help_text="Only these queries (ids).")
    personas = Names(help_text="Only these personas (ids).")
    strategies = Names(help_text="Only answers of these strategies.")
    languages = Names(help_text="Only queries in these languages.")
    number = serializers.IntegerField(
        min_value=1, max_value=10**7, required=False, help_text="At most so many items."
    )
    again = serializers.BooleanField(
        default=False,
        help_text="Also queries that have items: further pairs, and answers that came since.",
    )
    mixed = serializers.BooleanField(
        default=False, help_text="Items in a random order, instead of query by query."
    )
    control = serializers.BooleanField(
        default=False, help_text="One answer of each item is generic, a hidden control."
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="Answer what would be opened (200), and open nothing."
    )

    def scope(self) -> Scope:
        """What the batch keeps to."""
        data = self.validated_data
        names = ("queries", "personas", "strategies", "languages")
        lists: dict[str, Any] = {name: tuple(data[name]) for name in names}
        plain = {name: data[name] for name in ("mixed", "again", "control")}
        return Scope(**lists, number=data.get("number"), **plain)


def create_study(request: Request) -> Response:
    """Make a study; whoever asks becomes its administrator."""
    if not may_create(request.user):
        raise PermissionDenied
    body = StudyBody(data=request.data)
    body.is_valid(raise_exception=True)

    def create() -> tuple[int, dict]:
        fields = dict(body.validated_data)
        fields["languages"] = fields["languages"] or ["en"]
        study = members.create_study(fields, request.user)
        study.role = Role.ADMINISTRATOR
        return 201, StudySerializer(study).data

    return once(request, create)


class Tasks(StudyView):
    @extend_schema(responses=RowsPage)
    def get(self, request: Request, slug: str) -> Response:
        """The newest version of each task."""
        study = study_for(request.user, slug, READERS)
        newest = {task.name: task for task in study.tasks.order_by("version")}
        return Response({"results": [_task(task) for task in newest.values()]})

    @extend_schema(parameters=[KEY], request=TaskBody, responses={201: dict})
    def post(self, request: Request, slug: str) -> Response:
        """Define a task; one that differs from the newest of its name is a new version."""
        study = study_for(request.user, slug, MANAGERS)
        body = TaskBody(data=request.data)
        body.is_valid(raise_exception=True)
        fields = dict(body.validated_data)
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


class Members(StudyView):
    parameters = Since.PARAMETERS

    @extend_schema(parameters=PAGES, responses=RowsPage)
    def get(self, request: Request, slug: str) -> Response:
        """Who is a member, with role; for administrators."""
        study = study_for(request.user, slug, ADMINISTRATORS)
        standing = study.memberships.filter(left_at=None).select_related("user")
        page, place = Since().page(request, standing)
        rows = [
            {"email": m.user.email, "name": m.user.name, "role": m.role, "joined_at": m.joined_at}
            for m in page
        ]
        return Response({"results": rows, **place})


class Invitations(StudyView):
    scope = "admin"

    @extend_schema(request=InvitationBody, responses={201: dict})
    def post(self, request: Request, slug: str) -> Response:
        """Make a link that lets one person join; it is shown only once."""
        study = study_for(request.user, slug, ADMINISTRATORS)
        body = InvitationBody(data=request.data)
        body.is_valid(raise_exception=True)
        with transaction.atomic():
            invitation, key = Invitation.issue(study, **body.validated_data, by=request.user)
            audit.record(request.user, "invitation.issue", invitation, role=invitation.role)
        link = request.build_absolute_uri(reverse("invitation", args=[key]))
        answer = {"link": link, "role": invitation.role, "expires_at": invitation.expires_at}
        return Response(answer, status=201)


class Batches(StudyView):
    parameters = Since.PARAMETERS

    @extend_schema(parameters=PAGES, responses=RowsPage)
    def get(self, request: Request, slug: str) -> Response:
        """The study's batches with their progress."""
        study = study_for(request.user, slug, READERS)
        work = _counted(Batch.objects.filter(study=study, purpose=Batch.Purpose.WORK))
        page, place = Since().page(request, work)
        return Response({"results": [_batch(batch) for batch in page], **place})

    @extend_schema(parameters=[KEY], request=BatchBody, responses={200: dict, 201: dict})
    def post(self, request: Request, slug: str) -> Response:
        """Open a batch of what the task asks about and lacks, or say what it would be."""
        study = study_for(request.user, slug, MANAGERS)
        body = BatchBody(data=request.data)
        body.is_valid(raise_exception=True)
        data = body.validated_data
        tasks = tasks_of(study, [data["task"], *data["also"]])
        wanted = {"order": data["order"], "overlap": data.get("overlap"), "scope": body.scope()}
        if data["dry_run"]:
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


class CloseBatch(StudyView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, slug: str, batch: int) -> Response:
        """Hand out nothing more of a batch."""
        study = study_for(request.user, slug, MANAGERS)
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
