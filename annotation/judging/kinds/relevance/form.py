from django import forms
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from annotation.judging.kinds import body
from annotation.judging.kinds.form import TaskForm


class RelevanceForm(TaskForm):
    together = forms.BooleanField(
        label=gettext_lazy("Show all attributes of a prompt on one screen"),
        required=False,
        initial=True,
        help_text=gettext_lazy("One vote an attribute; a reason cannot be required then."),
    )


class RelevanceBody(body.Body):
    relevant = serializers.ChoiceField(
        choices=["yes", "no"], help_text="`true` and `false` are taken too."
    )
