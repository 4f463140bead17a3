"""Judgments from files of other tools: what a kind is asked about them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError

# Labels of files that stand for none of an item's answers.
NO_ANSWER = ("tie", "none")
# What a task can be given so that it takes a file that does not fit it.
WIDER = {
    "ties": gettext_lazy("allow ties"),
    "none": gettext_lazy("allow “none of them”"),
    "classes": gettext_lazy("add the file's classes"),
    "criteria": gettext_lazy("add the file's criteria"),
    "questions": gettext_lazy("add the file's questions"),
}


@dataclass(frozen=True)
class ImportedFile:
    """What a file shows of the task behind it.

    ``columns`` are what its columns stand for ("prompt", "attribute", "label", "score"), ``size``
    is how many answers an item shows, ``labels`` and ``criteria`` those that occur, ``rated`` how
    many of an item's answers have scores, ``low`` and ``high`` the range of the scores,
    ``label_name`` the name of the column of labels; ``values`` the answers to each question of its
    own, in the order of the lines, ``of_answers`` those of them that are about each answer;
    ``classes`` those declared of a question ("": of the labels), ``level`` what they are.
    """

    columns: frozenset[str]
    size: int
    labels: tuple[str, ...]
    criteria: tuple[str, ...]
    rated: int
    low: float
    high: float
    label_name: str
    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of_answers: frozenset[str] = frozenset()
    classes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    level: str = ""

    def has(self, *columns: str) -> bool:
        """Whether it has each of these columns."""
        return self.columns.issuperset(columns)

    @property
    def orders(self) -> set[str]:
        """The labels that put answers in order, such as "A>C=B"."""
        return set() if self.classed else {label for label in self.labels if ">" in label}

    @property
    def classed(self) -> bool:
        """Whether labels are declared to be classes, also those that look like numbers."""
        return "" in self.classes or (self.level == "nominal" and self.size == 1)


@dataclass(frozen=True)
class ImportedJudgment:
    """What one person says of one item.

    ``scores`` are by "PLACE/CRITERION" or "NAME/CRITERION", ``answers`` the ids of the answers by
    their place (from 1).
    ``choice(label)`` is the id of the answer that a label names, or "tie" or "none"; it raises
    DomainError. ``signed``: scores of pairs are below zero for one side and above it for the other.
    """

    label: str
    config: dict
    answers: list[str]
    choice: Callable[[str], str]
    scores: dict = field(default_factory=dict)
    signed: bool = False
    # The gold response whose claims are judged.
    gold: int | None = None

    def answer(self, place: str) -> str:
        """The id of the answer at a place, or of the one that is called so (percent-encoded).

        DomainError where the item has no such answer.
        """
        if not place.isdigit():
            return self.choice(unquote(place))
        if int(place) > len(self.answers):
            raise DomainError(_("the item has no answer “%s”") % place)
        return self.answers[int(place) - 1]


@dataclass(frozen=True)
class ReleasedAnswer:
    """An answer as a release has it: ``Kind.answer_json`` and ``Answer.detail`` of a judgment.

    ``ids`` is {id of an answer in the release: id of the item's candidate}.
    """

    answer: Any
    detail: str = ""
    ids: dict[str, str] = field(default_factory=dict)
    gold: int | None = None
    # The settings of the item's task.
    config: dict = field(default_factory=dict)

    @property
    def text(self) -> str:
        """An answer that is one label; DomainError."""
        if not isinstance(self.answer, str):
            raise DomainError(_("the answer is not one label"))
        return self.answer

    @property
    def parts(self) -> dict[str, Any]:
        """An answer of several parts; DomainError."""
        if not isinstance(self.answer, dict):
            raise DomainError(_("the answer has no parts"))
        return self.answer

    def candidate(self, name: str) -> str:
        """The id of the candidate that an id of the release stands for; DomainError."""
        if name not in self.ids:
            raise DomainError(_("the item has no answer “%s”") % name[:80])
        return self.ids[name]
