"""Does an attribute hold that a model extracted from a conversation?"""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.judging.kinds import words
from annotation.judging.models import AttributeVerdict

MODEL = AttributeVerdict
TEMPLATE = "judging/kinds/attribute.html"
NAME = gettext_lazy("judge extracted attributes")
ASKS = ("attribute",)
QUESTION = gettext_lazy("Does the conversation show that this is true of the person?")
Verdict, Cause = AttributeVerdict.Verdict, AttributeVerdict.Cause
DEFAULTS: dict = {}


@dataclass(frozen=True)
class Answer:
    """A verdict and, unless it is "accepted", its cause."""

    verdict: str
    cause: str = ""
    counter = ""

    @property
    def label(self) -> str:
        return self.verdict


def check_config(config: dict) -> dict:
    """Return ``config`` with its defaults; DomainError names what is wrong with it."""
    return words.check("attribute", config, DEFAULTS)


def read(data, held) -> Answer:
    """Read ``verdict`` and, for one that is not "accepted", ``cause``."""
    sentence = _("Choose a verdict first.")
    verdict = words.choice_of(data, "verdict", Verdict.values, sentence)
    if verdict == Verdict.ACCEPTED:
        return Answer(verdict)
    sentence = _("Say what is wrong with the attribute.")
    return Answer(verdict, words.choice_of(data, "cause", Cause.values, sentence))


def store(answer: Answer, **common) -> AttributeVerdict:
    """Add the judgment; part of the caller's transaction."""
    return MODEL.objects.create(verdict=answer.verdict, cause=answer.cause, **common)


def answer_of(judgment: AttributeVerdict) -> Answer:
    """The answer that a stored judgment holds."""
    return Answer(judgment.verdict, judgment.cause)


def typed(answer: Answer, shown) -> dict:
    """The form's fields that would give this answer again."""
    return {"verdict": [answer.verdict], "cause": [answer.cause]}


def context(shown, typed) -> dict:
    """The verdicts and causes to choose from."""
    return {"verdicts": Verdict.choices, "causes": Cause.choices}
