from rest_framework import serializers

from annotation.judging.kinds import body


class RelevanceBody(body.Body):
    relevant = serializers.ChoiceField(
        choices=["yes", "no"], help_text="`true` and `false` are taken too."
    )
