from django import forms
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from annotation.judging.kinds import body
from annotation.judging.kinds.form import TaskForm

OPTIONS = (3, 8)


class RankingForm(TaskForm):
    options = forms.IntegerField(
        label=gettext_lazy("Answers to order"),
        min_value=OPTIONS[0],
        max_value=OPTIONS[1],
        initial=4,
    )
    ties = forms.BooleanField(label=gettext_lazy("Allow equal places"), required=False)


class RankingBody(body.Body):
    ranking = serializers.ListField(
        child=serializers.JSONField(),
        help_text="Options' ids, the best first; a list of ids stands for equal places.",
    )
