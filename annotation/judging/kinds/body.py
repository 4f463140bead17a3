"""The part of the API's body that every kind has; it documents, ``Kind.read`` checks."""

from rest_framework import serializers


class Mark(serializers.Serializer):
    option = serializers.CharField(help_text="An option's id.")
    start = serializers.IntegerField(help_text="In characters of the option's text.")
    end = serializers.IntegerField()
    text = serializers.CharField()
    sign = serializers.ChoiceField(choices=["+", "-"])
    comment = serializers.CharField(required=False)


class Body(serializers.Serializer):
    """What the body of every kind may have."""

    reason = serializers.CharField(required=False)
    flags = serializers.ListField(child=serializers.CharField(), required=False)
    chips = serializers.ListField(child=serializers.CharField(), required=False)
    marks = Mark(many=True, required=False)
    seconds = serializers.FloatField(required=False, help_text="Active time.")
