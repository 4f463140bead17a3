"""A place for each of the item's answers, the best first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.questions import base


class RankingQuestion(base.Question):
    TITLE = gettext_lazy("an order of the answers")
    LEVEL = "ranks"

    type: Literal["ranking"] = "ranking"
    about: Literal["item"] = "item"
    ties: bool = base.setting(False, title=gettext_lazy("Allow equal places"))

    def labels(self, options: int) -> list[str]:
        return [str(place) for place in range(1, options + 1)]

    def is_empty(self, value: Any) -> bool:
        return super().is_empty(value) or (
            isinstance(value, dict) and all(place in (None, "") for place in value.values())
        )

    def given(self, value: Any, options: base.Options) -> list[base.Given]:
        """``value``: {option's id: place}; a place for every option, without gaps."""
        sent = value if isinstance(value, dict) else {}
        if sent.keys() != options.numbers.keys():
            raise self.refused(_("give every answer a place"))
        most, places = len(options.ids), {}
        for id, place in sent.items():
            number = base.whole_number(place, 1, most)
            if number is None:
                raise self.refused(_("places are numbers from 1 to %(n)d") % {"n": most})
            places[options.numbers[id]] = number
        used = sorted(set(places.values()))
        if not self.ties and len(used) < most:
            raise self.refused(_("give every answer a place of its own"))
        return [
            base.Given(self.name, option=number, value=used.index(places[number]) + 1)
            for number in sorted(places)
        ]

    def _one(self, value: Any, option: int | None, options: base.Options) -> list[base.Given]:
        if self.is_empty(value):
            return super()._one(value, option, options)
        return self.given(value, options)

    def sent_by_form(self, data: Mapping[str, Any], options: base.Options) -> Any:
        return {
            options.ids[number]: data.get(self.field(place))
            for place, number in enumerate(options.order, start=1)
        }

    def exported(self, rows: Sequence[base.Given], ids: Mapping[int, str]) -> Any:
        return {ids[row.option or 0]: row.value for row in rows}

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        places = range(1, len(options) + 1)
        rows = [(n, f"{field}/{n}", data.get(f"{field}/{n}", "")) for n in places]
        return {"rows": rows, "places": places}

    def as_shown(self, row: base.Given, order: Sequence[int]) -> base.Given:
        place = order.index(row.option) + 1 if row.option in order else 0
        return replace(row, option=place)
