from typing import Annotated, Any

from django import forms
from django.utils.translation import gettext_lazy, gettext_noop
from pydantic import BeforeValidator, Field, SkipValidation, ValidationInfo

from annotation.judging.kinds import body
from annotation.judging.kinds.form import ASKED, Lines, TaskForm

OPTIONS_LIMIT = 5
POINTS = 5
# A score is a digit, and a key.
POINTS_LIMIT = 9
# BESPOKE's four criteria; the names are the paper's, the explanations ours. Stored as they are,
# shown in the reader's language.
CRITERIA = {
    gettext_noop("Need Alignment"): gettext_lazy("Does it answer the need behind the query?"),
    gettext_noop("Content Depth"): gettext_lazy(
        "Is the amount and the level of detail right for you?"
    ),
    gettext_noop("Tone"): gettext_lazy("Does its voice fit you?"),
    gettext_noop("Explanation Style"): gettext_lazy("Is it organised in the way you prefer?"),
}


class FeedbackForm(TaskForm):
    criteria = Lines(
        label=gettext_lazy("Criteria"),
        initial=list(CRITERIA),
        help_text=gettext_lazy("One a line; each is scored from 1 to the points of the scale."),
    )
    points = forms.IntegerField(
        label=gettext_lazy("Points of the scale"),
        min_value=2,
        max_value=POINTS_LIMIT,
        initial=POINTS,
        required=False,
    )
    options = forms.IntegerField(
        label=gettext_lazy("Answers side by side"),
        min_value=1,
        max_value=OPTIONS_LIMIT,
        initial=1,
    )
    feedback = forms.ChoiceField(
        label=gettext_lazy("Feedback on each criterion"), choices=ASKED, initial="required"
    )
    least = forms.IntegerField(
        label=gettext_lazy("Characters of feedback, at least"),
        min_value=1,
        max_value=1000,
        initial=1,
    )
    feedback_chips = Lines(
        label=gettext_lazy("Common feedback to tick"),
        required=False,
        help_text=gettext_lazy("One a line."),
    )

    def clean_points(self) -> int:
        return self.cleaned_data["points"] or POINTS


def _feedback(value: Any, info: ValidationInfo) -> str:
    """Nothing has a sentence of its own, which names what feedback is missing on."""
    config = body.context_of(info)["config"]
    if value in (None, "") and config["feedback"] == "required":
        raise ValueError
    return body.text_of(value, config["feedback"], config["least"])


class ScoreBody(body.Body):
    score: Annotated[body.Point, body.asked(gettext_lazy("Score “%(criterion)s” of answer %(n)d."))]
    feedback: Annotated[
        str,
        BeforeValidator(_feedback),
        body.asked(gettext_lazy("Write feedback on “%(criterion)s” of answer %(n)d.")),
    ] = Field("", validate_default=True)
    chips: Annotated[list[str], body.names("chips", "feedback_chips")] = []


class FeedbackBody(body.Body):
    # Each score is read with its answer and criterion, for the sentences.
    answers: SkipValidation[dict[str, dict[str, ScoreBody]]] = Field(
        description="{option's id: {criterion: score}}, every option and criterion."
    )
