"""A place for each of the item's answers, the best first."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.questions import base


class RankingQuestion(base.Question):
    TITLE = gettext_lazy("an order of the answers")
    LEVEL = "ranks"
    NUMBERS = True
    COMPARES = 3

    type: Literal["ranking"] = "ranking"
    about: Literal["item"] = "item"
    ties: bool = base.setting(False, title=gettext_lazy("Allow equal places"))

    def labels(self, options: int) -> list[str]:
        return [str(place) for place in range(1, options + 1)]

    def is_empty(self, value: Any) -> bool:
        return super().is_empty(value) or (
            isinstance(value, dict) and all(place in (None, "") for place in value.values())
        )

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        """``value``: {option's id: place} of all, or ids from the best, lists of equal ones."""
        sent = _placed(value) if isinstance(value, list) else value
        if not isinstance(sent, dict):
            sent = {}
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
            base.Row(self.name, option=number, value=used.index(places[number]) + 1)
            for number in sorted(places)
        ]

    def _one(self, value: Any, about: int | None, options: base.Options) -> list[base.Row]:
        if self.is_empty(value):
            return super()._one(value, about, options)
        return self.rows(value, options)

    def missing(self, place: int) -> str:
        return _("Give every answer a place.")

    def sent_by_form(self, data: Mapping[str, Any], options: base.Options) -> Any:
        return {
            options.ids[number]: data.get(self.field(place))
            for place, number in enumerate(options.order, start=1)
        }

    def exported(self, rows: Sequence[base.Row], ids: Mapping[int, str]) -> Any:
        return {ids[row.option or 0]: row.value for row in rows}

    def sent_by_release(self, rows: Sequence[Mapping[str, Any]], ids: Mapping[str, str]) -> Any:
        places = {row["option"]: row["value"] for row in rows}
        return places if len(places) == len(rows) else self.only(rows)

    def row_of(self, label: str | int, about: int | None = None) -> base.Row:
        return base.Row(self.name, option=about, value=int(label))

    def expected(self, value: Any, candidates: Sequence[str], options: int) -> dict[str, int]:
        """Candidates' ids, the best first; a list of ids stands for equal places."""
        shown = base.Options(dict(enumerate(candidates, start=1)), range(1, len(candidates) + 1))
        try:
            rows = self.rows(value if isinstance(value, list) else None, shown)
        except DomainError:
            words = f"“expected” must list {base.listed(candidates)}, the best first"
            raise DomainError(words) from None
        return {row.key: row.value or 0 for row in rows}

    def in_order(self, rows: Sequence[base.Row]) -> str:
        """All places in words, the best first: "Answer 2 > Answer 1 = Answer 3"."""
        ordered = sorted(rows, key=lambda row: (row.value, row.option))
        groups = groupby(ordered, key=lambda row: row.value)
        names = [[base.answer_name(row.option or 0) for row in group] for _place, group in groups]
        return " > ".join(" = ".join(group) for group in names)

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        places = range(1, len(options) + 1)
        rows = [(n, f"{field}/{n}", data.get(f"{field}/{n}", "")) for n in places]
        return {"rows": rows, "places": places}

    def as_shown(self, row: base.Row, order: Sequence[int]) -> base.Row:
        place = order.index(row.option) + 1 if row.option in order else 0
        return replace(row, option=place)


def _placed(groups: list) -> dict[Any, int]:
    """{id: place} of ids in their order; {} where one is listed twice or is no id."""
    ids = [(id, place) for place, group in enumerate(groups, start=1)
           for id in (group if isinstance(group, list) else [group])]  # fmt: skip
    if not all(isinstance(id, str) for id, _place in ids) or len(dict(ids)) < len(ids):
        return {}
    return dict(ids)
