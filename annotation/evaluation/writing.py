"""Answers that an endpoint writes from a release's folder alone, for a judge to score. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from annotation.candidates import clean
from annotation.candidates.prompts import Prompt
from annotation.candidates.strategies import Brief, Strategy
from annotation.evaluation.asking import Question

# Of a reply: for the estimate of the cost alone.
TOKENS = 400
# Units of questions to the writer begin so; all others are the judge's.
UNIT = "w:"
Key = tuple[str, str]
ANSWER = "answer"


class _Next(Exception):  # noqa: N818 - a call that a draft is waiting for
    """A draft needs the reply to ``prompt`` first."""

    def __init__(self, unit: str, prompt: Prompt) -> None:
        super().__init__(unit)
        self.unit, self.prompt = unit, prompt


@dataclass(frozen=True)
class Writing:
    """An answer to each query, written by ``strategy`` from its brief.

    A question's unit is "w:", the query's place and the name of the call. ``first`` is what the
    writer is asked besides.
    """

    strategy: Strategy
    briefs: Mapping[Key, Brief]
    first: Sequence[Question] = ()

    def phases(self, values: Callable[[], dict]) -> Iterator[list[Question]]:
        """The calls that a draft begins with, such as a profile's, then the answers."""
        replies: dict = {}
        if self.first:
            yield list(self.first)
        while questions := self._open(replies):
            yield questions
            replies = values()

    def texts(self, values: dict) -> dict[Key, str]:
        """The answers by query; queries whose answer did not come are left out."""
        units = {key: f"{UNIT}{place}:{ANSWER}" for place, key in enumerate(self.briefs)}
        return {key: text for key, unit in units.items() if (text := values.get(unit))}

    def drafts(self) -> tuple[list[Question], dict[Key, str]]:
        """What is asked as far as that is known before it begins, and an answer to each query."""
        replies = {question.unit: "?" for question in self._open({})}
        later = self._open(replies)
        return [*self.first, *self._open({}), *later], dict.fromkeys(self.briefs, "?")

    def _open(self, replies: dict) -> list[Question]:
        steps = [self._step(place, brief, replies) for place, brief in
                 enumerate(self.briefs.values())]  # fmt: skip
        return [question for question in steps if question]

    def _step(self, place: int, brief: Brief, replies: dict) -> Question | None:
        """The next call for an answer; None where it came, or one before it failed."""

        def ask(name: str, prompt: Prompt) -> str:
            unit = f"{UNIT}{place}:{name}"
            if replies.get(unit) is None:
                raise _Next(unit, prompt)
            return replies[unit]

        try:
            unit, prompt = f"{UNIT}{place}:{ANSWER}", self.strategy.draft(brief, ask).prompt
        except _Next as call:
            unit, prompt = call.unit, call.prompt
        return None if unit in replies else question(unit, prompt)


def question(unit: str, prompt: Prompt) -> Question:
    """Ask for a text, without thoughts and links."""
    return Question(unit, partial(list, prompt.messages), read_answer)


def read_answer(text: str) -> str | None:
    """The text that people may see; None where nothing is left."""
    return clean.clean(text).text or None
