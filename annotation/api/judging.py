"""Judging over HTTP: a slot is claimed, judged or handed back; researchers read what was given."""

import re
from collections import defaultdict
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.db.models import F, Q, QuerySet
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView
from rest_framework.request import Request
from rest_framework.response import Response

from annotation import policies
from annotation.accounts.models import User
from annotation.api.base import StudyView, call, shown
from annotation.core.errors import Conflict, DomainError
from annotation.judging.kinds import (
    KINDS,
    Answer,
    answers_of,
    config_of,
    config_of_task,
    kind_of,
    label_words,
)
from annotation.judging.kinds.body import JudgmentBody
from annotation.judging.models import Batch, Item, ItemOption, Judgment, Slot
from annotation.judging.work import hidden_checks, present, queue, submit
from annotation.judging.work.present import Shown
from annotation.questions import stored
from annotation.questions.base import text_in
from annotation.studies.access import study_for
from annotation.studies.models import Study
from annotation.votes.counting import withdrawn_from, worker_name

KIND_NAMES = list(KINDS)


class OptionSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    text = serializers.CharField()


class ClaimSerializer(serializers.Serializer):
    id = serializers.IntegerField()
    text = serializers.CharField()


class TurnSerializer(serializers.Serializer):
    role = serializers.CharField()
    content = serializers.CharField()


class MessageSerializer(serializers.Serializer):
    role = serializers.ChoiceField(choices=["user", "assistant"])
    text = serializers.CharField()


class SlotSerializer(serializers.Serializer):
    """What an annotator gets to judge (judging.present.Shown); empty is what the kind has not.

    ``options`` stand in the order to show them in, ``conversations`` are what the ``attribute`` was
    extracted from, ``claims`` are those of the ``gold`` response. ``questions`` are what to answer,
    each with its ``name``, ``type``, ``text`` and settings; ``settings`` are the task's.
    ``proposal`` is the body of the answer that a pre-filled form begins with, else null.
    """

    slot = serializers.UUIDField()
    task = serializers.CharField()
    kind = serializers.ChoiceField(choices=KIND_NAMES, source="kind_name")
    question = serializers.CharField()
    query = serializers.CharField()
    turns = TurnSerializer(
        many=True, help_text="Of a query that is a conversation; `query` is its transcript."
    )
    need = serializers.CharField()
    persona = serializers.JSONField(source="profile", allow_null=True)
    options = serializers.SerializerMethodField()
    attribute = serializers.CharField()
    conversations = serializers.ListField(
        source="evidence", child=serializers.ListField(child=MessageSerializer())
    )
    gold = serializers.CharField()
    claims = ClaimSerializer(many=True)
    questions = serializers.SerializerMethodField()
    settings = serializers.DictField(source="config")
    proposal = serializers.SerializerMethodField()
    lease_expires_at = serializers.DateTimeField()

    @extend_schema_field(OptionSerializer(many=True))
    def get_options(self, slot: Shown) -> list[dict]:
        return [{"id": id, "text": text} for id, text in slot.answers]

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_questions(self, slot: Shown) -> list[dict]:
        return [
            {"about": question.about, "text": text_in(question.title, slot.question)} | settings
            for question, settings in zip(slot.questions, stored(slot.questions), strict=True)
        ]

    @extend_schema_field(serializers.DictField(allow_null=True))
    def get_proposal(self, slot: Shown) -> dict | None:
        begun = self.context["begun"].get(slot.slot)
        return begun and slot.kind.sent(slot.kind.of_label(begun["label"], slot.config), slot)


class TrainingSerializer(serializers.Serializer):
    right = serializers.BooleanField()
    expected = serializers.ListField(child=serializers.CharField(), help_text="In words.")
    explanation = serializers.CharField()


class StoredSerializer(serializers.Serializer):
    """An acknowledged judgment; ``answer`` is the body that would submit the same answer.

    ``training`` explains a training item, and is null otherwise.
    """

    slot = serializers.UUIDField(source="slot_id")
    kind = serializers.ChoiceField(choices=KIND_NAMES)
    revision = serializers.IntegerField()
    answer = serializers.DictField()
    reason = serializers.CharField()
    flags = serializers.ListField(child=serializers.CharField())
    chips = serializers.ListField(child=serializers.CharField())
    seconds = serializers.FloatField(allow_null=True)
    submitted_at = serializers.DateTimeField()
    training = TrainingSerializer(allow_null=True)


class JudgmentSerializer(serializers.Serializer):
    """One judgment in long form, under the ids of the bundle that the study came from.

    ``label`` is what people agree on or not, null for kinds whose ``answer`` is an object; a
    preference counts from 1, the item's first candidate much better. ``detail`` says how much
    better, or why not. ``proposal`` says what a pre-filled form began with and whether the answer
    is another; it is null of other forms. ``replaces`` names the judgment that this one revises;
    ``void`` is true of one that was taken out.
    """

    judgment = serializers.IntegerField(source="pk")
    kind = serializers.ChoiceField(choices=KIND_NAMES)
    task = serializers.CharField()
    task_version = serializers.IntegerField()
    item = serializers.CharField()
    query = serializers.CharField(allow_null=True)
    attribute = serializers.CharField(allow_null=True)
    worker = serializers.CharField()
    label = serializers.CharField(allow_null=True)
    answer = serializers.JSONField()
    detail = serializers.CharField()
    shown = serializers.ListField(child=serializers.IntegerField())
    reason = serializers.CharField()
    flags = serializers.ListField(child=serializers.CharField())
    chips = serializers.ListField(child=serializers.CharField())
    marks = serializers.ListField(child=serializers.DictField())
    seconds = serializers.FloatField(allow_null=True)
    proposal = serializers.DictField(allow_null=True)
    submitted_at = serializers.DateTimeField(
        allow_null=True, help_text="null where the file that it was imported from gave no time"
    )
    imported = serializers.BooleanField()
    provenance = serializers.IntegerField(
        source="provenance_id",
        allow_null=True,
        help_text="Of an imported one: `id` in GET /studies/SLUG/provenances.",
    )
    revision = serializers.IntegerField()
    replaces = serializers.IntegerField(source="replaces_id", allow_null=True)
    void = serializers.BooleanField()


OF_JUDGMENT = (
    *("pk", "shown", "reason", "flags", "chips", "marks", "seconds", "submitted_at", "imported"),
    *("dated", "provenance_id", "revision", "replaces_id", "annotator_id", "proposal"),
)
NAMED = {
    "kind": F("slot__item__batch__task__kind"),
    "config": F("slot__item__batch__task__config"),
    "task": F("slot__item__batch__task__name"),
    "task_version": F("slot__item__batch__task__version"),
    "item": F("slot__item__external_id"),
    "item_id": F("slot__item"),
    "query": F("slot__item__query__external_id"),
    "attribute": F("slot__item__attribute__external_id"),
    "account": F("annotator__worker"),
    "void": Q(slot__status=Slot.Status.VOID),
}


def long_form(study: Study, *, every: bool) -> QuerySet:
    """The judgments of ``study`` that count, as dictionaries for ``with_answers``.

    ``every``: also what was revised, and what a curator took out. Checks are never among them, nor
    what somebody judged who has withdrawn.
    """
    rows = Judgment.objects.all() if every else Judgment.objects.standing()
    rows = rows.filter(slot__study=study, slot__item__batch__purpose=Batch.Purpose.WORK)
    rows = rows.exclude(annotator__in=withdrawn_from(study))
    return rows.values(*OF_JUDGMENT, **NAMED)


def with_answers(rows: list[dict]) -> list[dict]:
    """Rows of ``long_form`` with their worker's name, label, answer and detail."""
    answers = answers_of({row["pk"]: row["kind"] for row in rows})
    options = ItemOption.objects.filter(item__in={row["item_id"] for row in rows})
    ids = defaultdict(dict)
    for item, number, name in options.values_list("item", "number", "candidate__external_id"):
        ids[item][number] = name
    return [row | _answer(row, answers[row["pk"]], ids[row["item_id"]]) for row in rows]


def _answer(row: dict, answer: Answer, ids: dict[int, str]) -> dict:
    kind, config = kind_of(row["kind"]), config_of(row["kind"], row["config"])
    return {
        "label": kind.label_json(answer.label, ids, config) if kind.shape == "label" else None,
        "answer": kind.answer_json(answer, ids, config),
        "detail": answer.detail,
        "worker": worker_name(row["annotator_id"], row["account"]),
        "submitted_at": row["submitted_at"] if row["dated"] else None,
    }


def acknowledged(judgment: Judgment) -> dict:
    """A stored judgment for its annotator: the same however often it was sent."""
    item = Item.objects.select_related("batch__task", "gold").get(slots=judgment.slot_id)
    task = item.batch.task
    kind = kind_of(task.kind)
    # Read again: only the database sets the time of a new row.
    row = Judgment.objects.get(pk=judgment.pk)
    answer = kind.answer_of(row)
    ids = {option.number: str(option.candidate_id) for option in item.options.all()}
    answers = [(ids[number], "") for number in row.shown]
    as_shown = SimpleNamespace(order=row.shown, config=config_of_task(task), answers=answers)
    common = ("slot_id", "revision", "reason", "flags", "chips", "seconds", "submitted_at")
    return shown(row, *common) | {
        "kind": task.kind,
        "answer": kind.sent(answer, as_shown),
        "training": _explained(item, answer, row.shown),
    }


def _explained(item: Item, answer: Answer, order: list[int]) -> dict | None:
    """Of a training item, whether the answer is the expected one, and why; of no other check."""
    if item.batch.purpose != Batch.Purpose.TRAINING:
        return None
    return {
        "right": hidden_checks.agrees(item, answer.label, item.expected),
        "expected": label_words(item, item.expected, order),
        "explanation": item.explanation,
    }


REQUIRED_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    required=True,
    description="Names this submit. Sent again with the same body, it is answered, not stored.",
)
EVERY = OpenApiParameter(
    "all", str, enum=["0", "1"], description="`1`: also what was revised and what was taken out."
)
SINCE = OpenApiParameter("since", int, description="Only judgments after the one of this id.")


def slug_of_slot(pk: UUID) -> str | None:
    """The study's address of the slot ``pk``; None where there is no such slot."""
    return Slot.objects.filter(pk=pk).values_list("study__slug", flat=True).first()


def _study_of(user: User, pk: UUID) -> Study:
    """The study of a slot in which ``user`` is an annotator; 404 for any other slot."""
    slug = slug_of_slot(pk)
    if slug is None:
        raise Http404
    try:
        return study_for(user, slug, policies.judgment.may_give)
    except PermissionDenied:
        raise Http404 from None


class ClaimSlot(StudyView):
    scope = "judge"

    @call(
        policies.judgment.may_give,
        responses={200: SlotSerializer, 204: OpenApiResponse(description="Nothing left")},
    )
    def post(self, request: Request, study: Study) -> Response:
        """Take the next slot to judge, or get again the one you hold, its lease renewed."""
        _refuse_without_consent(study)
        if study.status != Study.Status.OPEN:
            raise Conflict("The study is not open.", code="closed")
        slot = queue.claim(study, request.user)
        if slot is None:
            return Response(status=204)
        held = present.show(slot, request.user)
        begun = present.proposals(held, request.user)
        return Response(SlotSerializer(held, context={"begun": begun}).data)


class SetSerializer(serializers.Serializer):
    """Items of one person and type of question that follow one another."""

    id = serializers.IntegerField()
    size = serializers.IntegerField()
    type = serializers.CharField(allow_blank=True)
    persona = serializers.JSONField(
        source="person.profile", default=None, help_text="The profile as its tasks show it."
    )


class ChosenSet(serializers.Serializer):
    set = serializers.IntegerField(allow_null=True, help_text="null: of all persons again.")


class Sets(StudyView):
    """Whose items the caller judges next."""

    scope = "judge"

    @call(policies.judgment.may_give, name="set_list", answer=SetSerializer, many=True)
    def get(self, request: Request, study: Study) -> Any:
        """The next set of each person and type of question."""
        _refuse_without_consent(study)
        return present.open_sets(study, request.user)

    @call(policies.judgment.may_give, name="choose_set", takes=ChosenSet, answer=ChosenSet)
    def post(self, request: Request, study: Study, chosen: dict) -> Any:
        """Be handed the items of one set until it has none for you; you keep what you hold."""
        _refuse_without_consent(study)
        queue.choose(study, request.user, chosen["set"])
        return chosen


class SubmitJudgment(StudyView):
    scope = "judge"
    slug_of = staticmethod(slug_of_slot)

    @call(
        parameters=[REQUIRED_KEY],
        request=JudgmentBody,
        responses={201: StoredSerializer, 200: StoredSerializer},
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Store your judgment of a slot you hold."""
        study = _study_of(request.user, pk)
        _refuse_without_consent(study)
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            raise DomainError("Send an Idempotency-Key header.", code="key")
        body = request.data
        done = submit.submit(study, pk, request.user, body, key=key, seconds=body.get("seconds"))
        stored = StoredSerializer(acknowledged(done.judgment)).data
        return Response(stored, status=200 if done.repeated else 201)


class HandBackSlot(StudyView):
    scope = "judge"
    slug_of = staticmethod(slug_of_slot)

    @call(answer=None, status=204)
    def post(self, request: Request, pk: UUID) -> None:
        """Hand a slot back unjudged."""
        _study_of(request.user, pk)
        queue.hand_back(pk, request.user, "released")


class Judgments(StudyView, GenericAPIView):
    serializer_class = JudgmentSerializer

    @call(
        policies.judgment.may_read,
        name="judgments_list",
        parameters=[EVERY, SINCE],
        also=("cursor", "page_size"),
        answer=JudgmentSerializer,
        many=True,
    )
    def get(self, request: Request, study: Study) -> Response:
        """The judgments of a study that count, of every kind, one row each, oldest first."""
        rows = long_form(study, every=_every(request)).filter(pk__gt=_since(request))
        page = self.paginate_queryset(rows)
        return self.get_paginated_response(JudgmentSerializer(with_answers(page), many=True).data)


def _every(request: Request) -> bool:
    text = request.query_params.get("all", "0")
    if text not in ("0", "1"):
        raise DomainError("all is 1 or 0.", code="all")
    return text == "1"


def _since(request: Request) -> int:
    text = request.query_params.get("since", "0")
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise DomainError("since is the id of a judgment.", code="since")
    return int(text)


def _refuse_without_consent(study: Study) -> None:
    if not study.consented:
        raise DomainError(
            "Agree to the study's consent text in the browser first.", code="consent", status=403
        )


class Root(StudyView):
    @call(answer=dict)
    def get(self, request: Request) -> Any:
        """Where to go from here."""
        names = ("studies", "schema", "docs")
        return {name: request.build_absolute_uri(reverse(f"api-{name}")) for name in names}
