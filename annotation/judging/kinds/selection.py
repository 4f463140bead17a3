"""Choose the best of two or three answers; where the task allows, a tie or none of them."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging.kinds import words
from annotation.judging.models import Selection

MODEL = Selection
TEMPLATE = "judging/kinds/selection.html"
NAME = gettext_lazy("choose the best answer")
ASKS = ("query", "options")
QUESTION = gettext_lazy("Which answer fits this person best and helps most?")
DEFAULTS = {"options": 2, "tie": False, "none": False, "strength": False, "pairs_per_query": 1}


@dataclass(frozen=True)
class Answer:
    """An outcome and, where it is a choice, the option's row and canonical number."""

    outcome: str
    option: object | None = None
    strength: str = ""

    @property
    def counter(self) -> str:
        """The column of the item that counts such answers."""
        counters = {"tie": "ties", "none": "nones"}
        return counters.get(self.outcome) or f"votes_{self.option.number}"

    @property
    def label(self) -> str:
        """What annotators agree or disagree on: the option's number, ``tie`` or ``none``."""
        return str(self.option.number) if self.option else self.outcome


def check_config(config: dict) -> dict:
    """Return ``config`` with its defaults; DomainError names what is wrong with it.

    ``options`` 2 or 3, ``tie``, ``none`` and ``strength`` booleans, ``pairs_per_query`` how many
    pairs of a query's answers a batch of pairs draws, and what every kind has (words.CONFIG).
    """
    full = words.check("selection", config, DEFAULTS)
    if type(full["options"]) is not int or full["options"] not in (2, 3):
        raise DomainError("options must be 2 or 3.", code="config")
    if type(full["pairs_per_query"]) is not int or not 1 <= full["pairs_per_query"] <= 100:
        raise DomainError("pairs_per_query must be a number from 1 to 100.", code="config")
    return full


def read(data, held) -> Answer:
    """Read ``choice`` and ``strength`` of a form or an API body.

    ``choice`` is the candidate of one of the item's options, or ``tie`` or ``none`` where the task
    allows it. Raises DomainError with a sentence for the annotator.
    """
    by_id = {option.candidate: option for option in held.options}
    allowed = [name for name in ("tie", "none") if held.config[name]]
    sentence = _("Choose one of the answers first.")
    choice = words.choice_of(data, "choice", {*by_id, *allowed}, sentence)
    if choice in allowed:
        return Answer(choice)
    strength = ""
    if held.config.get("strength"):
        sentence = _("Say how much better it is.")
        strength = words.choice_of(data, "strength", Selection.Strength.values, sentence)
    return Answer("choice", by_id[choice], strength)


def store(answer: Answer, **common) -> Selection:
    """Add the judgment; part of the caller's transaction."""
    return MODEL.objects.create(
        outcome=answer.outcome,
        choice_id=answer.option and answer.option.pk,
        strength=answer.strength,
        **common,
    )


def answer_of(judgment: Selection) -> Answer:
    """The answer that a stored judgment holds."""
    return Answer(judgment.outcome, judgment.choice, judgment.strength)


def typed(answer: Answer, shown) -> dict:
    """The form's fields that would give this answer again."""
    chosen = str(answer.option.candidate_id) if answer.option else answer.outcome
    return {"choice": [chosen], "strength": [answer.strength]}


def context(shown, typed) -> dict:
    """What the template needs besides what is shown."""
    return {"strengths": Selection.Strength.choices if shown.config.get("strength") else []}
