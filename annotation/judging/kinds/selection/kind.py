"""Choose the best of two or three answers; where the task allows, a tie or none of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Case, Expression, Value, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import base, common, planning
from annotation.judging.kinds.imported import (
    NO_ANSWER,
    ImportedFile,
    ImportedJudgment,
    ReleasedAnswer,
)
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.kinds.selection.form import SelectionBody, SelectionForm, Strength
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.studies.models import Study, TaskDefinition


@dataclass(frozen=True)
class Answer:
    """An outcome and, where it is a choice, the option's number (0: unknown)."""

    outcome: str
    number: int = 0
    strength: str = ""

    @property
    def label(self) -> str:
        """The option's number, ``tie`` or ``none``."""
        return str(self.number) if self.number else self.outcome

    @property
    def detail(self) -> str:
        return self.strength


class SelectionKind(base.Kind[Answer, SelectionBody, str]):
    CODE = "selection"
    NAME = gettext_lazy("choose the best answer")
    QUESTION = gettext_lazy("Which answer fits this person best and helps most?")
    PRIMARY = "choice"
    Form = SelectionForm
    Body = SelectionBody
    ASKS = ("query", "options")
    DEFAULTS = {"options": 2, "tie": False, "none": False, "strength": False, "pairs_per_query": 1}
    COUNTED = True

    def check_config(self, config: Config) -> dict:
        """``options`` 2 or 3, ``tie``, ``none`` and ``strength`` booleans, ``pairs_per_query`` how
        many pairs of a query's answers a batch of pairs draws, and what every kind has.
        """
        full = super().check_config(config)
        if type(full["options"]) is not int or full["options"] not in (2, 3):
            raise DomainError("options must be 2 or 3.", code="config")
        common.check_whole("pairs_per_query", full["pairs_per_query"], 1, 100)
        return full

    def published_config(self, texts: Callable[[str], list[str]], attribute: bool) -> Config:
        options, labels = len(texts("candidates")), texts("labels")
        return {"options": options} | {name: name in labels for name in NO_ANSWER}

    def imported_config(self, file: ImportedFile) -> Config | None:
        if file.has("attribute") or file.has("score") or file.orders or file.size not in (2, 3):
            return None
        special = {name: name in file.labels for name in NO_ANSWER}
        return {"reason": "optional", "options": file.size} | special

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        if judgment.scores:
            raise DomainError(_("the item's task asks for a choice, and this line has scores"))
        return {"choice": judgment.choice(judgment.label)}

    def answered_config(self, released: ReleasedAnswer) -> dict[str, Any]:
        return {"strength": bool(released.detail)}

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        label = released.text
        choice = label if label in NO_ANSWER else released.candidate(label)
        return {"choice": choice, "strength": released.detail}

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        return planning.compared(study, task, scope)

    def takes_control(self, config: Config) -> bool:
        return True

    def labels(self, config: Config) -> list[str]:
        numbers = [str(number) for number in range(1, config["options"] + 1)]
        return numbers + [name for name in NO_ANSWER if config[name]]

    def expected(self, value: Any, row: dict, config: Config) -> str:
        """A candidate's id, ``tie`` or ``none``."""
        labels = {id: str(n) for n, id in enumerate(row["candidates"], start=1)}
        return base.expect(value, labels | {name: name for name in NO_ANSWER if config[name]})

    def answer(self, body: SelectionBody, held: Held) -> Answer:
        numbers = {option.candidate: option.number for option in held.options}
        number = numbers.get(body.choice, 0)
        return Answer("choice" if number else body.choice, number, body.strength)

    def rows(self, answer: Answer) -> list[models.Answer]:
        degree = Strength.values.index(answer.strength) + 1 if answer.strength else None
        return [models.Answer(question=self.PRIMARY, label=answer.label, value=degree)]

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        ids = dict(zip(shown.order, (id for id, _text in shown.answers), strict=True))
        chosen = ids[answer.number] if answer.number else answer.outcome
        return {"choice": [chosen], "strength": [answer.strength]}

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        return {"strengths": Strength.choices if shown.config.get("strength") else []}

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        (row,) = rows
        strength = Strength.values[row.value - 1] if row.value else ""
        return replace(self.of_label(row.label), strength=strength)

    def detail_column(self) -> Expression:
        degrees = [
            When(main_answer__value=degree, then=Value(name))
            for degree, name in enumerate(Strength.values, start=1)
        ]
        return Case(*degrees, default=Value(""))

    def of_label(self, label: str) -> Answer:
        return Answer("choice", int(label)) if label.isdigit() else Answer(label)

    def as_shown(self, answer: Answer, order: Sequence[int], config: Config) -> Answer:
        if not answer.number:
            return answer
        place = order.index(answer.number) + 1 if answer.number in order else 0
        return replace(answer, number=place)

    def label_words(self, label: str, config: Config) -> str:
        special = {"tie": _("Equally good"), "none": _("None meets the need")}
        return special.get(label) or base.answer_name(int(label) if label.isdigit() else 0)

    def words(self, answer: Answer, config: Config) -> list[str]:
        words = self.label_words(answer.label, config)
        if not answer.strength:
            return [words]
        return [f"{words}, {Strength(answer.strength).label}"]

    def label_json(self, label: str, ids: dict[int, str], config: Config) -> str:
        return ids[int(label)] if label.isdigit() else label
