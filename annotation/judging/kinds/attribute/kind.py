"""Does an attribute hold that a model extracted from a conversation?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.db.models import Expression, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy

from annotation.judging import models
from annotation.judging.kinds import base, planning
from annotation.judging.kinds.attribute.form import AttributeBody, Cause, Verdict
from annotation.judging.kinds.form import TaskForm
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.studies.models import Study, TaskDefinition

# The question asked where an attribute is not accepted.
CAUSE = "cause"
# Words of other tools.
IMPORTED = {
    "yes": Verdict.ACCEPTED,
    "true": Verdict.ACCEPTED,
    "unsure": Verdict.UNCERTAIN,
    "maybe": Verdict.UNCERTAIN,
    "no": Verdict.REJECTED,
    "false": Verdict.REJECTED,
}


@dataclass(frozen=True)
class Answer:
    """A verdict and, unless it is "accepted", its cause."""

    verdict: str
    cause: str = ""

    @property
    def label(self) -> str:
        return self.verdict

    @property
    def detail(self) -> str:
        return self.cause


class AttributeKind(base.Kind[Answer, AttributeBody, str]):
    CODE = "attribute"
    NAME = gettext_lazy("judge extracted attributes")
    QUESTION = gettext_lazy("Does the conversation show that this is true of the person?")
    PRIMARY = "verdict"
    Form = TaskForm
    Body = AttributeBody
    ASKS = ("attribute",)

    def imported_config(self, file: ImportedFile) -> Config | None:
        return {} if file.has("attribute") and not file.has("prompt") else None

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        label = judgment.label.lower()
        verdict = IMPORTED.get(label, label)
        return {"verdict": verdict, "cause": Cause.OTHER if verdict != Verdict.ACCEPTED else ""}

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        return {"verdict": released.text, "cause": released.detail}

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        return planning.attributes(study, task, scope)

    def labels(self, config: Config) -> list[str]:
        return list(Verdict.values)

    def answer(self, body: AttributeBody, held: Held) -> Answer:
        return Answer(body.verdict, body.cause)

    def rows(self, answer: Answer) -> list[models.Answer]:
        rows = [models.Answer(question=self.PRIMARY, label=answer.verdict)]
        if answer.cause:
            rows.append(models.Answer(question=CAUSE, label=answer.cause))
        return rows

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        return {"verdict": [answer.verdict], "cause": [answer.cause]}

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        chats = [_folded(messages) for messages in shown.evidence]
        return {"verdicts": Verdict.choices, "causes": Cause.choices, "chats": chats}

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        labels = {row.question: row.label for row in rows}
        return Answer(labels[self.PRIMARY], labels.get(CAUSE, ""))

    def detail_column(self) -> Expression:
        causes = models.Answer.objects.filter(judgment=OuterRef("pk"), question=CAUSE)
        return Coalesce(Subquery(causes.values("label")), Value(""))

    def of_label(self, label: str) -> Answer:
        return Answer(label)

    def label_words(self, label: str, config: Config) -> str:
        return str(Verdict(label).label)

    def words(self, answer: Answer, config: Config) -> list[str]:
        cause = f": {Cause(answer.cause).label}" if answer.cause else ""
        return [f"{self.label_words(answer.verdict, config)}{cause}"]


def _folded(messages: list[dict]) -> list[tuple[bool, list[dict]]]:
    """A conversation in runs of turns: (whether it is context to unfold, turns).

    Open are the turns with evidence and one before and after each; where no turn has any, all.
    """
    marked = [place for place, turn in enumerate(messages) if turn.get("spans")]
    near = {place + step for place in marked for step in (-1, 0, 1)} or set(range(len(messages)))
    runs = groupby(enumerate(messages), key=lambda turn: turn[0] not in near)
    return [(folded, [turn for _place, turn in run]) for folded, run in runs]
