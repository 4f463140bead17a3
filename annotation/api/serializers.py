from rest_framework import serializers

from annotation.agreement.reading import worker_name
from annotation.judging.models import Selection
from annotation.studies.models import Study


class StudySerializer(serializers.ModelSerializer):
    role = serializers.CharField(read_only=True, allow_null=True)

    class Meta:
        model = Study
        fields = ["slug", "title", "description", "languages", "status", "role"]
        read_only_fields = fields


class OptionSerializer(serializers.Serializer):
    id = serializers.UUIDField()
    text = serializers.CharField()


class SlotSerializer(serializers.Serializer):
    """What an annotator gets to judge; ``options`` in the order to show them in."""

    slot = serializers.UUIDField()
    task = serializers.CharField()
    kind = serializers.CharField()
    query = serializers.CharField()
    need = serializers.CharField()
    persona = serializers.JSONField(allow_null=True)
    options = OptionSerializer(many=True)
    lease_expires_at = serializers.DateTimeField()


class SelectionBody(serializers.Serializer):
    """Documents the body of a selection; ``judging.kinds.selection`` is what checks it."""

    choice = serializers.CharField(help_text="An option's id, `tie` or `none`.")
    reason = serializers.CharField(required=False)
    flags = serializers.ListField(child=serializers.CharField(), required=False)
    seconds = serializers.FloatField(required=False)


class StoredSerializer(serializers.Serializer):
    """An acknowledged judgment."""

    slot = serializers.UUIDField(source="slot_id")
    outcome = serializers.CharField()
    choice = serializers.UUIDField(source="choice.candidate_id", allow_null=True, default=None)
    reason = serializers.CharField()
    flags = serializers.ListField(child=serializers.CharField())
    seconds = serializers.FloatField(allow_null=True)
    submitted_at = serializers.DateTimeField()


class JudgmentSerializer(serializers.ModelSerializer):
    """One judgment in long form, under the ids of the bundle that the study came from."""

    judgment = serializers.IntegerField(source="pk")
    task = serializers.CharField(source="slot.item.batch.task.name")
    task_version = serializers.IntegerField(source="slot.item.batch.task.version")
    item = serializers.CharField(source="slot.item.external_id")
    query = serializers.CharField(source="slot.item.query.external_id")
    worker = serializers.SerializerMethodField()
    label = serializers.SerializerMethodField()

    class Meta:
        model = Selection
        fields = [
            *("judgment", "task", "task_version", "item", "query", "worker", "label"),
            *("shown", "reason", "flags", "seconds", "submitted_at", "imported"),
        ]
        read_only_fields = fields

    def get_worker(self, selection) -> str:
        return worker_name(selection.annotator_id, selection.annotator.worker)

    def get_label(self, selection) -> str:
        return selection.choice.candidate.external_id if selection.choice else selection.outcome
