"""A point of a scale from 1, with words where the task asks for them."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field, model_validator

from annotation.questions import base

# A score is one digit, and one key.
POINTS = (2, 9)


class RatingQuestion(base.Question):
    TITLE = gettext_lazy("points on a scale")
    LEVEL = "ordinal"
    NUMBERS = True

    type: Literal["rating"] = "rating"
    points: int = base.setting(
        5, title=gettext_lazy("Points of the scale"), ge=POINTS[0], le=POINTS[1]
    )
    names: list[base.Texts] = base.setting(
        [],
        title=gettext_lazy("Names of the points"),
        description=gettext_lazy("One a line from 1 up, or none."),
        max_length=POINTS[1],
    )
    comment: base.Asking = base.setting("off", title=gettext_lazy("Words on each score"))
    least: int = base.setting(
        1, title=gettext_lazy("Characters of these words, at least"), ge=1, le=1000
    )
    chips: list[Annotated[str, Field(min_length=1, max_length=60)]] = base.setting(
        [],
        title=gettext_lazy("Common words to tick"),
        description=gettext_lazy("One a line."),
        max_length=20,
    )

    @model_validator(mode="after")
    def _named(self) -> Self:
        if self.names and len(self.names) != self.points:
            raise ValueError("name every point of the scale, or none")
        return self

    def labels(self, options: int) -> list[str]:
        return [str(n) for n in range(1, self.points + 1)]

    @property
    def _plain(self) -> bool:
        """Whether an answer is a number alone."""
        return self.comment == "off" and not self.chips

    def is_empty(self, value: Any) -> bool:
        return super().is_empty(_score(value) if isinstance(value, dict) else value)

    def missing(self, place: int) -> str:
        if not place:
            return super().missing(place)
        return _("Score “%(criterion)s” of answer %(n)d.") % {"criterion": self.words, "n": place}

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        sent = value if isinstance(value, dict) else {"score": value}
        score = base.whole_number(_score(sent), 1, self.points)
        if score is None:
            raise self.refused(_("choose a point from 1 to %(n)d") % {"n": self.points})
        return [
            base.Row(self.name, value=score, text=self._comment(sent), chips=self._ticked(sent))
        ]

    def _comment(self, sent: dict) -> str:
        if self.comment == "off":
            return ""
        least = self.least if self.comment == "required" else 0
        return base.checked_text(self, sent.get("text") or "", least)

    def _ticked(self, sent: dict) -> tuple[str, ...]:
        chips = sent.get("chips") or []
        if not isinstance(chips, list) or any(chip not in self.chips for chip in chips):
            raise self.refused(_("tick some of: %s") % ", ".join(self.chips))
        return tuple(chip for chip in self.chips if chip in chips)

    def value_of(self, data: Mapping[str, Any], field: str) -> Any:
        if self._plain:
            return data.get(field)
        return {
            "score": data.get(field),
            "text": data.get(f"{field}/text"),
            "chips": base.many(data, f"{field}/chips"),
        }

    def fields_of(self, row: base.Row, field: str, options: base.Options) -> dict[str, list[str]]:
        return {
            field: [str(row.value)],
            f"{field}/text": [row.text],
            f"{field}/chips": list(row.chips),
        }

    def value(self, row: base.Row, ids: Mapping[int, str]) -> Any:
        if self._plain:
            return row.value
        return {"score": row.value, "text": row.text, "chips": list(row.chips)}

    def value_of_row(self, row: Mapping[str, Any], ids: Mapping[str, str]) -> Any:
        return {"score": row["value"], "text": row["text"], "chips": row["chips"]}

    def label_words(self, label: str) -> str:
        named = self.names and base.text_in(self.names[int(label) - 1])
        return f"{label} ({named})" if named else label

    def agrees(self, label: Any, expected: Any) -> bool:
        """A point beside the expected one counts as the same."""
        return type(label) is int and abs(label - expected) <= 1

    def context(self, data: Mapping[str, Any], field: str, options: Sequence[str]) -> dict:
        chosen, ticked = data.get(field), base.many(data, f"{field}/chips")
        names = [base.text_in(name) for name in self.names] or [""] * self.points
        scale = [(n, name, str(n) == chosen) for n, name in enumerate(names, start=1)]
        chips = [(chip, chip in ticked) for chip in self.chips]
        return {"scale": scale, "comment": data.get(f"{field}/text", ""), "chips": chips}


def _score(sent: Mapping[str, Any]) -> Any:
    return sent.get("score", sent.get("value"))
