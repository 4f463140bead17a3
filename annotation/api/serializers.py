"""Judgments of every kind in the API: for their annotator, and for researchers."""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.judging.kinds import (
    KINDS,
    Answer,
    answers_of,
    config_of,
    config_of_task,
    kind_of,
    label_words,
)
from annotation.judging.models import Batch, Item, ItemOption, Judgment, Slot
from annotation.judging.work import hidden_checks
from annotation.judging.work.present import Shown
from annotation.questions import stored
from annotation.questions.base import text_in
from annotation.studies.models import Study
from annotation.votes.counting import withdrawn_from, worker_name

KIND_NAMES = list(KINDS)


class StudySerializer(serializers.ModelSerializer):
    role = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = Study
        fields = ["slug", "title", "description", "languages", "status", "role"]
        read_only_fields = fields


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
    lease_expires_at = serializers.DateTimeField()

    @extend_schema_field(OptionSerializer(many=True))
    def get_options(self, shown: Shown) -> list[dict]:
        return [{"id": id, "text": text} for id, text in shown.answers]

    @extend_schema_field(serializers.ListField(child=serializers.DictField()))
    def get_questions(self, shown: Shown) -> list[dict]:
        return [
            {"about": question.about, "text": text_in(question.title, shown.question)} | settings
            for question, settings in zip(shown.questions, stored(shown.questions), strict=True)
        ]


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
    better, or why not. ``replaces`` names the judgment that this one revises; ``void`` is true of
    one that was taken out.
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
    *("dated", "provenance_id", "revision", "replaces_id", "annotator_id"),
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


@dataclass(frozen=True)
class _AsShown:
    """What a kind's ``typed`` wants to know."""

    order: list[int]
    config: dict
    answers: list[tuple[str, str]]


def acknowledged(judgment: Judgment) -> dict:
    """A stored judgment for its annotator: the same however often it was sent."""
    item = Item.objects.select_related("batch__task", "gold").get(slots=judgment.slot_id)
    task = item.batch.task
    kind = kind_of(task.kind)
    # Read again: only the database sets the time of a new row.
    stored = Judgment.objects.get(pk=judgment.pk)
    answer = kind.answer_of(stored)
    ids = {option.number: str(option.candidate_id) for option in item.options.all()}
    answers = [(ids[number], "") for number in stored.shown]
    shown = _AsShown(stored.shown, config_of_task(task), answers)
    common = ("slot_id", "revision", "reason", "flags", "chips", "seconds", "submitted_at")
    return {name: getattr(stored, name) for name in common} | {
        "kind": task.kind,
        "answer": kind.sent(answer, shown),
        "training": _explained(item, answer, stored.shown),
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
