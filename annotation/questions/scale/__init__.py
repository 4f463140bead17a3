"""How much better one of two answers is, on a scale whose middle is no preference."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Self

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import model_validator

from annotation.questions import base


class ScaleQuestion(base.Question):
    """A row's ``value`` counts from option 1 (much better) to option 2 (much better)."""

    TITLE = gettext_lazy("how much better one of two answers is")
    LEVEL = "ordinal"
    NUMBERS = True
    COMPARES = 2

    type: Literal["scale"] = "scale"
    about: Literal["item"] = "item"
    points: int = base.setting(
        5, title=gettext_lazy("Points of the scale, an odd number"), ge=3, le=9
    )
    names: list[base.Texts] = base.setting(
        [],
        title=gettext_lazy("Names of the points"),
        description=gettext_lazy("One a line, from answer 1 to answer 2, or none."),
        max_length=9,
    )

    @model_validator(mode="after")
    def _has_a_middle(self) -> Self:
        if self.points % 2 == 0:
            raise ValueError("points must be odd: the middle is no preference")
        if self.names and len(self.names) != self.points:
            raise ValueError("name every point of the scale, or none")
        return self

    def labels(self, options: int) -> list[str]:
        return [str(n) for n in range(1, self.points + 1)]

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        """``value`` counts from the answer shown first."""
        point = base.whole_number(value, 1, self.points)
        if point is None:
            raise self.refused(_("choose a point from 1 to %(n)d") % {"n": self.points})
        return [self.as_shown(base.Row(self.name, value=point), options.order)]

    def missing(self, place: int) -> str:
        return _("Choose a place on the scale first.")

    def sent_bare(self, data: Mapping[str, Any]) -> Any:
        return data.get(self.name, data.get("value"))

    def sent(self, rows: Sequence[base.Row], options: base.Options) -> Any:
        """Counted from the answer shown first."""
        return self.exported([self.as_shown(row, options.order) for row in rows], options.ids)

    def side(self, label: str) -> str:
        """1, 2 or tie: which of the two options is better."""
        value, middle = int(label), self.points // 2 + 1
        return "1" if value < middle else "2" if value > middle else "tie"

    def sides(self, options: int) -> list[str]:
        return ["1", "2", "tie"]

    def agrees(self, label: Any, expected: Any) -> bool:
        """The same side counts as the same."""
        return label is not None and self.side(str(label)) == self.side(str(expected))

    def fields_of(self, row: base.Row, field: str, options: base.Options) -> dict[str, list[str]]:
        return {field: [str(self.as_shown(row, options.order).value)]}

    def as_shown(self, row: base.Row, order: Sequence[int]) -> base.Row:
        if row.value is None or list(order[:1]) != [2]:
            return row
        return replace(row, value=self.points + 1 - row.value)

    def label_words(self, label: str) -> str:
        return self._named()[int(label) - 1]

    def _named(self) -> list[str]:
        """The points' names; without any, the ends and the middle say what they are."""
        if self.names:
            return [base.text_in(name) for name in self.names]
        middle = self.points // 2
        return [
            _("No preference")
            if step == middle
            else _("Answer 1 is better (%(n)d)") % {"n": middle - step}
            if step < middle
            else _("Answer 2 is better (%(n)d)") % {"n": step - middle}
            for step in range(self.points)
        ]

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        chosen = data.get(field)
        names = enumerate(self._named(), start=1)
        return {"scale": [(n, name, str(n) == chosen) for n, name in names]}
