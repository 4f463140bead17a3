from typing import Annotated

from django import forms
from django.utils.translation import gettext_lazy
from pydantic import Field

from annotation.judging.kinds import body
from annotation.judging.kinds.form import TaskForm


class PreferenceForm(TaskForm):
    points = forms.TypedChoiceField(
        label=gettext_lazy("Points of the scale"), choices=[(5, "5"), (7, "7")], coerce=int
    )
    pairs_per_query = forms.IntegerField(
        label=gettext_lazy("Pairs a query"), min_value=1, max_value=100, initial=1
    )
    attribute = forms.BooleanField(
        label=gettext_lazy("Show an attribute of the person"),
        required=False,
        help_text=gettext_lazy(
            "Items are then planned from attributes that a majority held relevant to a prompt: the "
            "generic answer against one written from the attribute."
        ),
    )


class PreferenceBody(body.Body):
    value: Annotated[body.Point, body.asked(gettext_lazy("Choose a place on the scale first."))] = (
        Field(description="A value of the slot's scale: 1 is the option shown first much better.")
    )
