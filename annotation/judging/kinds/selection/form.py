from django import forms
from django.utils.translation import gettext_lazy
from rest_framework import serializers

from annotation.judging.kinds import body
from annotation.judging.kinds.form import TaskForm
from annotation.judging.kinds.selection.tables import Selection


class SelectionForm(TaskForm):
    options = forms.TypedChoiceField(
        label=gettext_lazy("Answers side by side"), choices=[(3, "3"), (2, "2")], coerce=int
    )
    pairs_per_query = forms.IntegerField(
        label=gettext_lazy("Pairs a query (for two answers)"), min_value=1, max_value=100, initial=1
    )
    tie = forms.BooleanField(label=gettext_lazy("Allow “equally good”"), required=False)
    none = forms.BooleanField(label=gettext_lazy("Allow “none meets the need”"), required=False)
    strength = forms.BooleanField(
        label=gettext_lazy("Ask how much better the choice is"), required=False
    )


class SelectionBody(body.Body):
    choice = serializers.CharField(help_text="An option's id, `tie` or `none`.")
    strength = serializers.ChoiceField(choices=Selection.Strength.values, required=False)
