"""Should an attribute of the person change the response to a prompt in any way?"""

from dataclasses import dataclass

from django.db.models import Case, Value, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.judging.kinds import base, common, planning
from annotation.judging.kinds.relevance.form import RelevanceBody, RelevanceForm
from annotation.judging.kinds.relevance.tables import Relevance

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


class RelevanceKind(base.Kind):
    CODE = "relevance"
    NAME = gettext_lazy("judge the relevance of attributes")
    QUESTION = gettext_lazy("Should this attribute change the response in any way?")
    MODEL = Relevance
    Form = RelevanceForm
    Body = RelevanceBody
    ASKS = ("query", "attribute")
    DEFAULTS = {"together": False}

    def check_config(self, config: dict) -> dict:
        """``together``: all attributes of a prompt on one screen, with one reason at most."""
        full = super().check_config(config)
        if full["together"] and full["reason"] == "required":
            raise DomainError(
                _("A reason for all attributes of a screen can be optional, not required."),
                code="config",
            )
        return full

    def together(self, config: dict) -> bool:
        return config["together"]

    def imported_config(self, file):
        return {} if file.has("attribute", "prompt") else None

    def imported_body(self, judgment):
        label = judgment.label.lower()
        return {"relevant": IMPORTED.get(label, label)}

    def plan(self, study, task, scope=planning.EVERYTHING):
        return planning.attributes_by_query(study, task, scope)

    def labels(self, config: dict) -> list[str]:
        return ["yes", "no"]

    def read(self, data, held) -> Answer:
        """``relevant``: ``yes`` or ``no``, or of an API body also true or false."""
        value = data.get("relevant")
        if isinstance(value, bool):
            return Answer(value)
        sentence = _("Choose yes or no first.")
        return Answer(common.choice_of(data, "relevant", ("yes", "no"), sentence) == "yes")

    def columns(self, answer: Answer, held) -> dict:
        return {"relevant": answer.relevant}

    def typed(self, answer: Answer, shown) -> dict:
        return {"relevant": [answer.label]}

    def context(self, shown, typed) -> dict:
        rows = [(slot, words, typed.get(f"relevant-{slot}", "")) for slot, words in shown.rows]
        return {"rows": rows}

    def answers(self, judgments) -> dict[int, Answer]:
        rows = Relevance.objects.filter(sql.among("pk", judgments)).values_list("pk", "relevant")
        return {pk: Answer(relevant) for pk, relevant in rows}

    def label_column(self, path: str = "") -> Case:
        yes = When(**{f"{path}relevance__relevant": True}, then=Value("yes"))
        return Case(yes, default=Value("no"))

    def of_label(self, label: str) -> Answer:
        return Answer(label == "yes")

    def label_words(self, label: str, config: dict) -> str:
        return _("Yes, it should") if label == "yes" else _("No, it should not")
