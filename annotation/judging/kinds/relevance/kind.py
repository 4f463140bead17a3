"""Should an attribute of the person change the response to a prompt in any way?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import base, planning
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.kinds.relevance.form import RelevanceBody, RelevanceForm
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.studies.models import Study, TaskDefinition

# Words of other tools.
IMPORTED = {"true": "yes", "1": "yes", "false": "no", "0": "no"}


@dataclass(frozen=True)
class Answer:
    """Yes or no."""

    relevant: bool
    detail = ""

    @property
    def label(self) -> str:
        return "yes" if self.relevant else "no"


class RelevanceKind(base.Kind[Answer, RelevanceBody, str]):
    CODE = "relevance"
    NAME = gettext_lazy("judge the relevance of attributes")
    QUESTION = gettext_lazy("Should this attribute change the response in any way?")
    PRIMARY = "relevant"
    Form = RelevanceForm
    Body = RelevanceBody
    ASKS = ("query", "attribute")
    DEFAULTS = {"together": False}

    def check_config(self, config: Config) -> dict:
        """``together``: all attributes of a prompt on one screen, with one reason at most."""
        full = super().check_config(config)
        if full["together"] and full["reason"] == "required":
            raise DomainError(
                _("A reason for all attributes of a screen can be optional, not required."),
                code="config",
            )
        return full

    def together(self, config: Config) -> bool:
        return config["together"]

    def imported_config(self, file: ImportedFile) -> Config | None:
        return {} if file.has("attribute", "prompt") else None

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        label = judgment.label.lower()
        return {"relevant": IMPORTED.get(label, label)}

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        return {"relevant": released.text}

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        return planning.attributes_by_query(study, task, scope)

    def labels(self, config: Config) -> list[str]:
        return ["yes", "no"]

    def answer(self, body: RelevanceBody, held: Held) -> Answer:
        return Answer(body.relevant == "yes")

    def rows(self, answer: Answer) -> list[models.Answer]:
        return [models.Answer(question=self.PRIMARY, label=answer.label)]

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        return {"relevant": [answer.label]}

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        rows = [(slot, words, typed.get(f"relevant-{slot}", "")) for slot, words in shown.rows]
        return {"rows": rows}

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        return self.of_label(rows[0].label)

    def of_label(self, label: str) -> Answer:
        return Answer(label == "yes")

    def label_words(self, label: str, config: Config) -> str:
        return _("Yes, it should") if label == "yes" else _("No, it should not")
