"""How much better one of two answers is, on a scale with a middle of no preference."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import Case, Value, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import base, common, planning
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Lacking, Scope
from annotation.judging.kinds.preference import personalised
from annotation.judging.kinds.preference.form import PreferenceBody, PreferenceForm
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.studies.models import Study, TaskDefinition

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


@dataclass(frozen=True)
class Answer:
    """``value`` from 1 (option 1 much better) to the end of the scale (option 2 much better)."""

    value: int
    detail = ""

    @property
    def label(self) -> str:
        return str(self.value)


class PreferenceKind(base.Kind[Answer, PreferenceBody, str]):
    CODE = "preference"
    NAME = gettext_lazy("rate two answers on a scale")
    QUESTION = gettext_lazy("Which answer is better for this person?")
    PRIMARY = "preference"
    COLUMN = "value"
    Form = PreferenceForm
    Body = PreferenceBody
    ASKS = ("query", "options")
    DEFAULTS = {"options": 2, "points": 5, "pairs_per_query": 1, "attribute": False}
    LEVEL = "ordinal"

    def imported_config(self, file: ImportedFile) -> Config | None:
        compares = file.size == 2 and file.rated == 1 and len(file.criteria) == 1
        if file.has("attribute") or not file.has("score") or not compares:
            return None
        points = 7 if max(-file.low, file.high - 4) > 2 else 5
        return {"reason": "optional", "points": points}

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        stated = next(iter(judgment.scores.values()), judgment.label)
        wrong = DomainError(_("“%s” is no place on the scale") % str(stated)[:60])
        points = judgment.config["points"]
        try:
            value = int(stated)
        except ValueError:
            raise wrong from None
        if judgment.signed:  # 0 is the middle of the scale
            value += points // 2 + 1
        if not 1 <= value <= points:
            raise wrong
        return {"value": value}

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        if not released.text.isdecimal():
            raise DomainError(_("“%s” is no place on the scale") % released.text[:60])
        return {"value": int(released.text)}

    def check_config(self, config: Config) -> dict:
        """``points`` 5 or 7, ``pairs_per_query`` as in a selection, ``attribute`` whether items
        name the attribute by which one of the answers was personalised.
        """
        full = super().check_config(config)
        if type(full["points"]) is not int or full["points"] not in NAMES:
            raise DomainError("points must be 5 or 7.", code="config")
        if full["options"] != 2:
            raise DomainError("options must be 2.", code="config")
        common.check_whole("pairs_per_query", full["pairs_per_query"], 1, 100)
        return full

    def published_config(self, texts: Callable[[str], list[str]], attribute: bool) -> Config:
        return {"points": len(texts("labels")), "attribute": attribute}

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        if task.config.get("attribute"):
            return personalised.plan(study, task, scope)
        return planning.compared(study, task, scope)

    def takes_control(self, config: Config) -> bool:
        return not config.get("attribute")  # one of its answers is generic in any case

    def lacking(
        self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING
    ) -> Lacking | None:
        """Of a task with attributes: which answers are missing, or that nothing is relevant yet."""
        return personalised.lacking(study, task, scope) if task.config.get("attribute") else None

    def labels(self, config: Config) -> list[str]:
        return [str(n) for n in range(1, config["points"] + 1)]

    def answer(self, body: PreferenceBody, held: Held) -> Answer:
        """The body counts from the answer shown first, the stored value from option 1."""
        return self.as_shown(Answer(body.value), held.shown, held.config)

    def rows(self, answer: Answer) -> list[models.Answer]:
        return [models.Answer(question=self.PRIMARY, value=answer.value)]

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        return {"value": [self.as_shown(answer, shown.order, shown.config).label]}

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        chosen, names = typed.get("value"), self.scale(shown.config)
        return {"scale": [(n, name, str(n) == chosen) for n, name in enumerate(names, start=1)]}

    def scale(self, config: Config) -> list[str]:
        return [str(name) for name in NAMES[config["points"]]]

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        return Answer(cast(int, rows[0].value))

    def choice_column(self, config: Config) -> Case:
        middle = _middle(config)
        return Case(
            When(main_answer__value__lt=middle, then=Value("1")),
            When(main_answer__value__gt=middle, then=Value("2")),
            default=Value("tie"),
        )

    def of_label(self, label: str) -> Answer:
        return Answer(int(label))

    def as_shown(self, answer: Answer, order: Sequence[int], config: Config) -> Answer:
        """The same function turns the scale in either direction."""
        return Answer(config["points"] + 1 - answer.value) if tuple(order) == (2, 1) else answer

    def choice(self, label: str, config: Config) -> str:
        value, middle = int(label), _middle(config)
        return "1" if value < middle else "2" if value > middle else "tie"

    def choices(self, config: Config) -> list[str]:
        return ["1", "2", "tie"]

    def label_words(self, label: str, config: Config) -> str:
        return self.scale(config)[int(label) - 1]


def _middle(config: Config) -> int:
    return (config["points"] + 1) // 2
