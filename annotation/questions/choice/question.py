"""The best of the item's answers; where the task allows, a tie or none of them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.questions import base

STRENGTHS = {
    "slightly": gettext_lazy("slightly"),
    "clearly": gettext_lazy("clearly"),
    "much": gettext_lazy("much"),
}


class ChoiceQuestion(base.Question):
    TITLE = gettext_lazy("the best of the answers")

    type: Literal["choice"] = "choice"
    about: Literal["item"] = "item"
    tie: bool = base.setting(False, title=gettext_lazy("Allow “equally good”"))
    none: bool = base.setting(False, title=gettext_lazy("Allow “none of them”"))
    strength: bool = base.setting(False, title=gettext_lazy("Ask how much better the choice is"))

    @property
    def special(self) -> list[str]:
        """The labels that stand for none of the options."""
        return [name for name in ("tie", "none") if getattr(self, name)]

    def labels(self, options: int) -> list[str]:
        return [str(number) for number in range(1, options + 1)] + self.special

    def is_empty(self, value: Any) -> bool:
        return super().is_empty(value.get("choice") if isinstance(value, dict) else value)

    def given(self, value: Any, options: base.Options) -> list[base.Given]:
        sent = value if isinstance(value, dict) else {"choice": value}
        choice, strength = sent.get("choice"), sent.get("strength") or ""
        if choice in self.special:
            return [base.Given(self.name, label=str(choice))]
        if not isinstance(choice, str) or choice not in options.numbers:
            raise self.refused(_("choose one of the answers"))
        if self.strength and strength not in list(STRENGTHS):
            raise self.refused(_("say how much better it is"))
        degree = list(STRENGTHS).index(strength) + 1 if self.strength else None
        return [base.Given(self.name, label=str(options.numbers[choice]), value=degree)]

    def value_of(self, data: Mapping[str, Any], field: str) -> Any:
        choice = data.get(field)
        if not self.strength or choice in self.special:
            return choice
        return {"choice": choice, "strength": data.get(f"{field}/strength")}

    def fields_of(self, row: base.Given, field: str, options: base.Options) -> dict[str, list[str]]:
        value = self.value(row, options.ids)
        if not isinstance(value, dict):
            return {field: [value]}
        return {field: [value["choice"]], f"{field}/strength": [value["strength"]]}

    def value(self, row: base.Given, ids: Mapping[int, str]) -> Any:
        choice = ids.get(int(row.label), row.label) if row.label.isdigit() else row.label
        if not row.value:
            return choice
        return {"choice": choice, "strength": list(STRENGTHS)[row.value - 1]}

    def label_words(self, label: str) -> str:
        special = {"tie": _("Equally good"), "none": _("None of them"), "0": _("One of them")}
        return special.get(label) or _("Answer %(n)s") % {"n": label}

    def said(self, row: base.Given) -> str:
        words = self.label_words(row.label)
        return f"{words}, {list(STRENGTHS.values())[row.value - 1]}" if row.value else words

    def as_shown(self, row: base.Given, order: Sequence[int]) -> base.Given:
        if not row.label.isdigit():
            return row
        number = int(row.label)
        return replace(row, label=str(order.index(number) + 1 if number in order else 0))

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        chosen, strength = data.get(field), data.get(f"{field}/strength")
        strengths = STRENGTHS.items() if self.strength else ()
        return {
            "options": [(n, id, id == chosen) for n, id in enumerate(options, start=1)],
            "special": [(name, self.label_words(name), name == chosen) for name in self.special],
            "strengths": [(name, words, name == strength) for name, words in strengths],
        }
