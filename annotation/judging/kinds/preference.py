"""How much better one of two answers is, on a scale with a middle of no preference."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging.kinds import words
from annotation.judging.models import Preference

MODEL = Preference
TEMPLATE = "judging/kinds/preference.html"
NAME = gettext_lazy("rate two answers on a scale")
ASKS = ("query", "options")
QUESTION = gettext_lazy("Which answer is better for this person?")
# From the answer shown first to the one shown second.
NAMES = {
    5: [
        gettext_lazy("Answer 1 is much better"),
        gettext_lazy("Answer 1 is better"),
        gettext_lazy("No preference"),
        gettext_lazy("Answer 2 is better"),
        gettext_lazy("Answer 2 is much better"),
    ],
    7: [
        gettext_lazy("Answer 1 is much better"),
        gettext_lazy("Answer 1 is better"),
        gettext_lazy("Answer 1 is slightly better"),
        gettext_lazy("No preference"),
        gettext_lazy("Answer 2 is slightly better"),
        gettext_lazy("Answer 2 is better"),
        gettext_lazy("Answer 2 is much better"),
    ],
}
DEFAULTS = {"options": 2, "points": 5, "pairs_per_query": 1, "attribute": False}


@dataclass(frozen=True)
class Answer:
    """``value`` from 1 (option 1 much better) to the end of the scale (option 2 much better)."""

    value: int
    counter = ""

    @property
    def label(self) -> str:
        return str(self.value)


def check_config(config: dict) -> dict:
    """Return ``config`` with its defaults; DomainError names what is wrong with it.

    ``points`` 5 or 7, ``pairs_per_query`` as in a selection, ``attribute`` whether items name the
    attribute by which one of the answers was personalised.
    """
    full = words.check("preference", config, DEFAULTS)
    if type(full["points"]) is not int or full["points"] not in NAMES:
        raise DomainError("points must be 5 or 7.", code="config")
    if full["options"] != 2:
        raise DomainError("options must be 2.", code="config")
    if type(full["pairs_per_query"]) is not int or not 1 <= full["pairs_per_query"] <= 100:
        raise DomainError("pairs_per_query must be a number from 1 to 100.", code="config")
    return full


def read(data, held) -> Answer:
    """Read ``value``, which counts from the answer shown first; the stored one from option 1."""
    points = held.config["points"]
    value = words.whole_of(
        data.get("value"), 1, points, _("Choose a place on the scale first."), "value"
    )
    return Answer(_turned(value, points, held.shown))


def store(answer: Answer, **common) -> Preference:
    """Add the judgment; part of the caller's transaction."""
    return MODEL.objects.create(value=answer.value, **common)


def answer_of(judgment: Preference) -> Answer:
    """The answer that a stored judgment holds."""
    return Answer(judgment.value)


def typed(answer: Answer, shown) -> dict:
    """The form's fields that would give this answer again."""
    return {"value": [str(_turned(answer.value, shown.config["points"], shown.order))]}


def context(shown, typed) -> dict:
    """The scale's points, from the answer shown first to the one shown second."""
    chosen = typed.get("value")
    names = NAMES[shown.config["points"]]
    return {"scale": [(n, name, str(n) == chosen) for n, name in enumerate(names, start=1)]}


def _turned(value: int, points: int, order) -> int:
    return points + 1 - value if tuple(order) == (2, 1) else value
