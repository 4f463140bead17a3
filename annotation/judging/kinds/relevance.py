"""Should an attribute of the person change the response to a prompt in any way?"""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.judging.kinds import words
from annotation.judging.models import Relevance

MODEL = Relevance
TEMPLATE = "judging/kinds/relevance.html"
NAME = gettext_lazy("judge the relevance of attributes")
ASKS = ("query", "attribute")
QUESTION = gettext_lazy("Should this attribute change the response in any way?")
DEFAULTS: dict = {}


@dataclass(frozen=True)
class Answer:
    """Yes or no."""

    relevant: bool
    counter = ""

    @property
    def label(self) -> str:
        return "yes" if self.relevant else "no"


def check_config(config: dict) -> dict:
    """Return ``config`` with its defaults; DomainError names what is wrong with it."""
    return words.check("relevance", config, DEFAULTS)


def read(data, held) -> Answer:
    """Read ``relevant``: ``yes`` or ``no``, or of an API body also true or false."""
    value = data.get("relevant")
    if isinstance(value, bool):
        return Answer(value)
    sentence = _("Choose yes or no first.")
    return Answer(words.choice_of(data, "relevant", ("yes", "no"), sentence) == "yes")


def store(answer: Answer, **common) -> Relevance:
    """Add the judgment; part of the caller's transaction."""
    return MODEL.objects.create(relevant=answer.relevant, **common)


def answer_of(judgment: Relevance) -> Answer:
    """The answer that a stored judgment holds."""
    return Answer(judgment.relevant)


def typed(answer: Answer, shown) -> dict:
    """The form's fields that would give this answer again."""
    return {"relevant": [answer.label]}


def context(shown, typed) -> dict:
    """Nothing besides what is shown."""
    return {}
