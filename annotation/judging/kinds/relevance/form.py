from typing import Annotated, Any, Literal

from django import forms
from django.utils.translation import gettext_lazy
from pydantic import BeforeValidator, Field

from annotation.judging.kinds import body
from annotation.judging.kinds.form import TaskForm


class RelevanceForm(TaskForm):
    together = forms.BooleanField(
        label=gettext_lazy("Show all attributes of a prompt on one screen"),
        required=False,
        initial=True,
        help_text=gettext_lazy("One vote an attribute; a reason cannot be required then."),
    )


def _word(value: Any) -> Any:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


class RelevanceBody(body.Body):
    relevant: Annotated[
        Literal["yes", "no"],
        BeforeValidator(_word),
        body.asked(gettext_lazy("Choose yes or no first.")),
    ] = Field(description="`true` and `false` are taken too.")
