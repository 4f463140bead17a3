from typing import Annotated, Any

from django import forms
from django.db import models
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from annotation.judging.kinds import body
from annotation.judging.kinds.form import TaskForm
from annotation.judging.kinds.imported import NO_ANSWER


class Strength(models.TextChoices):
    """How much better the chosen answer is."""

    SLIGHTLY = "slightly", gettext_lazy("slightly")
    CLEARLY = "clearly", gettext_lazy("clearly")
    MUCH = "much", gettext_lazy("much")


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


def _offered(choice: str, info: ValidationInfo) -> str:
    options = {option.candidate for option in body.context_of(info)["options"]}
    if choice not in options and not _special(choice, info):
        raise ValueError
    return choice


def _special(choice: str, info: ValidationInfo) -> bool:
    return choice in NO_ANSWER and body.context_of(info)["config"][choice]


def _strength(value: Any, info: ValidationInfo) -> Any:
    """Of an option that was chosen, and where the task asks for it; "" is no strength."""
    chosen = not _special(info.data["choice"], info)
    return value or None if chosen and body.context_of(info)["config"].get("strength") else ""


class SelectionBody(body.Body):
    choice: Annotated[
        str,
        AfterValidator(_offered),
        body.asked(gettext_lazy("Choose one of the answers first.")),
    ] = Field(description="An option's id, `tie` or `none`.")
    strength: Annotated[
        str,
        body.OneOf(["", *Strength.values]),
        BeforeValidator(_strength),
        body.asked(gettext_lazy("Say how much better it is.")),
    ] = Field("", validate_default=True)
