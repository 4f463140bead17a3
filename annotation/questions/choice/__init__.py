"""The best of the item's answers; where the task allows, a tie or none of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.questions import base

STRENGTHS = {
    "slightly": gettext_lazy("slightly"),
    "clearly": gettext_lazy("clearly"),
    "much": gettext_lazy("much"),
}


class ChoiceQuestion(base.Question):
    TITLE = gettext_lazy("the best of the answers")
    COMPARES = 2

    type: Literal["choice"] = "choice"
    about: Literal["item"] = "item"
    tie: bool = base.setting(False, title=gettext_lazy("Allow “equally good”"))
    none: bool = base.setting(False, title=gettext_lazy("Allow “none of them”"))
    strength: bool = base.setting(False, title=gettext_lazy("Ask how much better the choice is"))

    # What is said instead of “Equally good” (tie) and “None of them” (none).
    wording: dict[Literal["tie", "none"], base.Texts] = {}

    @property
    def special(self) -> list[str]:
        """The labels that stand for none of the options."""
        return [name for name in ("tie", "none") if getattr(self, name)]

    def labels(self, options: int) -> list[str]:
        return [str(number) for number in range(1, options + 1)] + self.special

    def measures(self, options: int) -> list[base.Measure]:
        return [replace(each, chooses=True) for each in super().measures(options)]

    def is_empty(self, value: Any) -> bool:
        return super().is_empty(value.get("choice") if isinstance(value, dict) else value)

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        sent = value if isinstance(value, dict) else {"choice": value}
        choice, strength = sent.get("choice"), sent.get("strength") or ""
        if isinstance(choice, str) and choice in self.special:
            return [base.Row(self.name, label=str(choice))]
        if not isinstance(choice, str) or choice not in options.numbers:
            raise self.refused(_("choose one of the answers"))
        if self.strength and strength not in list(STRENGTHS):
            raise DomainError(_("Say how much better it is."), code=self.name)
        degree = list(STRENGTHS).index(strength) + 1 if self.strength else None
        return [base.Row(self.name, label=str(options.numbers[choice]), value=degree)]

    def missing(self, place: int) -> str:
        return _("Choose one of the answers first.")

    def sent_bare(self, data: Mapping[str, Any]) -> Any:
        choice = data.get("choice", data.get(self.name))
        return {"choice": choice, "strength": data.get("strength")} if self.strength else choice

    def value_of(self, data: Mapping[str, Any], field: str) -> Any:
        choice = data.get(field)
        if not self.strength or choice in self.special:
            return choice
        return {"choice": choice, "strength": data.get(f"{field}/strength")}

    def fields_of(self, row: base.Row, field: str, options: base.Options) -> dict[str, list[str]]:
        value = self.value(row, options.ids)
        if not isinstance(value, dict):
            return {field: [value]}
        return {field: [value["choice"]], f"{field}/strength": [value["strength"]]}

    def value(self, row: base.Row, ids: Mapping[int, str]) -> Any:
        if not row.value:
            return _chosen(row, ids)
        return {"choice": _chosen(row, ids), "strength": list(STRENGTHS)[row.value - 1]}

    def released(self, row: base.Row, ids: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        """The label is an option's id, ``tie`` or ``none``; the value how much better, 1 to 3."""
        yield {**base.EMPTY_ROW, "label": _chosen(row, ids), "value": row.value}

    def value_of_row(self, row: Mapping[str, Any], ids: Mapping[str, str]) -> Any:
        choice, degree = ids.get(row["label"], row["label"]), row["value"]
        if degree is None:
            return choice
        return {"choice": choice, "strength": dict(enumerate(STRENGTHS, start=1)).get(degree)}

    def label_words(self, label: str) -> str:
        wording = base.text_in(self.wording.get(label, {}))  # type: ignore[call-overload]
        special = wording or {"tie": _("Equally good"), "none": _("None of them")}.get(label)
        return special or base.answer_name(int(label))

    def expected(self, value: Any, candidates: Sequence[str], options: int) -> str:
        """A candidate's id, ``tie`` or ``none``."""
        labels = {id: str(n) for n, id in enumerate(candidates, start=1)}
        labels |= {name: name for name in self.special}
        if not isinstance(value, str) or value not in labels:
            raise DomainError(f"“expected” must be one of {base.listed(labels)}")
        return labels[value]

    def stated(self, row: base.Row) -> str:
        words = self.label_words(row.label)
        return f"{words}, {list(STRENGTHS.values())[row.value - 1]}" if row.value else words

    def as_shown(self, row: base.Row, order: Sequence[int]) -> base.Row:
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


def _chosen(row: base.Row, ids: Mapping[int, str]) -> str:
    """The id of the option that was chosen, ``tie`` or ``none``."""
    return ids.get(int(row.label), row.label) if row.label.isdigit() else row.label
