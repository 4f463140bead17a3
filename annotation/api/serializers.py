import math
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotation.judging.kinds import KINDS
from annotation.judging.kinds.body import whole
from annotation.judging.work.present import Shown
from annotation.studies.models import Study

KIND_NAMES = list(KINDS)


class Share(serializers.FloatField):
    """A number from 0 to 1. NaN is refused: it would pass every bound."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"min_value": 0, "max_value": 1} | options)

    def to_internal_value(self, data: Any) -> float:
        """Return ``data`` as a number."""
        value = super().to_internal_value(data)
        if math.isnan(value):
            self.fail("invalid")
        return value


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


class PointSerializer(serializers.Serializer):
    value = serializers.IntegerField()
    label = serializers.CharField()


class MessageSerializer(serializers.Serializer):
    role = serializers.ChoiceField(choices=["user", "assistant"])
    text = serializers.CharField()


class SlotSerializer(serializers.Serializer):
    """What an annotator gets to judge (judging.present.Shown); empty is what the kind has not.

    ``options`` stand in the order to show them in, ``conversations`` are what the ``attribute`` was
    extracted from, ``claims`` are those of the ``gold`` response. ``scale`` has the points of a
    preference, from the first option to the second, or of a score; ``settings`` are the task's.
    """

    slot = serializers.UUIDField()
    task = serializers.CharField()
    kind = serializers.ChoiceField(choices=KIND_NAMES, source="kind_name")
    question = serializers.CharField()
    query = serializers.CharField()
    need = serializers.CharField()
    persona = serializers.JSONField(source="profile", allow_null=True)
    options = serializers.SerializerMethodField()
    attribute = serializers.CharField()
    conversations = serializers.ListField(
        source="evidence", child=serializers.ListField(child=MessageSerializer())
    )
    gold = serializers.CharField()
    claims = ClaimSerializer(many=True)
    criteria = serializers.SerializerMethodField()
    scale = serializers.SerializerMethodField()
    settings = serializers.DictField(source="config")
    lease_expires_at = serializers.DateTimeField()

    @extend_schema_field(OptionSerializer(many=True))
    def get_options(self, shown: Shown) -> list[dict]:
        return [{"id": id, "text": text} for id, text in shown.answers]

    def get_criteria(self, shown: Shown) -> list[str]:
        return shown.config.get("criteria", [])

    @extend_schema_field(PointSerializer(many=True))
    def get_scale(self, shown: Shown) -> list[dict]:
        names = shown.kind.scale(shown.config)
        return [{"value": n, "label": name} for n, name in enumerate(names, start=1)]


BODIES = [whole(kind.Body) for kind in KINDS.values()]


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
    submitted_at = serializers.DateTimeField()
    imported = serializers.BooleanField()
    revision = serializers.IntegerField()
    replaces = serializers.IntegerField(source="replaces_id", allow_null=True)
    void = serializers.BooleanField()
