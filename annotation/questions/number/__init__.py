"""A number between two bounds, in steps: 0 to 100, or 3.5 of 5.

A row's ``label`` is the number as text in its one way of writing ("73.5", "80", "-2"), never a
count of steps: it says the same whatever the bounds and the step are, and reading votes, counting
and releasing need no arithmetic. Forms may write a decimal comma.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import Field, model_validator

from annotation.core.errors import DomainError
from annotation.questions import base

# Every number that can be given is a label, of which tables and tests read a list.
STEPS_LIMIT = 1_000
# Floating point writes numbers between these without an exponent.
SMALLEST_STEP, LARGEST = 0.0001, 1_000_000
_WRITTEN = re.compile(r"\s*([+-]?\d{1,9})(?:([.,])(\d{1,9}))?\s*", re.ASCII)

Bound = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]


class NumberQuestion(base.Question):
    TITLE = gettext_lazy("a number")
    LEVEL = "interval"
    TYPED = True

    type: Literal["number"] = "number"
    minimum: Bound = base.setting(0, title=gettext_lazy("Lowest number"))
    maximum: Bound = base.setting(100, title=gettext_lazy("Highest number"))
    step: float = base.setting(
        1,
        title=gettext_lazy("Step"),
        description=gettext_lazy("1 for whole numbers, 0.5 for halves."),
        ge=SMALLEST_STEP,
        le=LARGEST,
    )
    unit: str = base.setting("", title=gettext_lazy("Unit"), max_length=30)
    ends: list[base.Texts] = base.setting(
        [],
        title=gettext_lazy("Names of both ends"),
        description=gettext_lazy("One a line: of the lowest, then of the highest; or none."),
        max_length=2,
    )
    tolerance: float = base.setting(
        0,
        title=gettext_lazy("Right in checks when off by at most"),
        ge=0,
        le=LARGEST,
    )

    @model_validator(mode="after")
    def _has_steps(self) -> Self:
        low, high, step = map(_decimal, (self.minimum, self.maximum, self.step))
        if low >= high:
            raise ValueError("the lowest number must be below the highest")
        if (high - low) % step:
            raise ValueError("the highest number must be whole steps above the lowest")
        if (high - low) / step > STEPS_LIMIT:
            raise ValueError(f"at most {STEPS_LIMIT:,} steps: use larger steps")
        if len(self.ends) == 1:
            raise ValueError("name both ends, or none")
        return self

    def labels(self, options: int) -> list[str]:
        low, step = _decimal(self.minimum), _decimal(self.step)
        steps = int((_decimal(self.maximum) - low) / step)
        return [_text(low + n * step) for n in range(steps + 1)]

    def label_of(self, value: Any, options: int = 0) -> str:
        number = _number(value, _decimals(self.step))
        low, high = _decimal(self.minimum), _decimal(self.maximum)
        fits = number is not None and low <= number <= high
        return _text(number) if number is not None and fits and not self._off(number) else ""

    def _off(self, number: Decimal) -> bool:
        return bool((number - _decimal(self.minimum)) % _decimal(self.step))

    def rows(self, value: Any, options: base.Options) -> list[base.Row]:
        label = self.label_of(value)
        if not label:
            raise self.refused(self._fault(value))
        return [base.Row(self.name, label=label)]

    def _fault(self, value: Any) -> str:
        words = {"low": self._end(0), "high": self._end(1), "step": _text(_decimal(self.step))}
        words["value"] = str(value)[:30]
        if _number(value, _decimals(self.step)) is None:
            return _("“%(value)s” is no number: write one from %(low)s to %(high)s") % words
        if self.minimum <= float(str(value).replace(",", ".")) <= self.maximum:
            return _("%(value)s is between two steps: from %(low)s on, go by %(step)s") % words
        return _("%(value)s is not between %(low)s and %(high)s") % words

    def is_empty(self, value: Any) -> bool:
        return super().is_empty(value) or (isinstance(value, str) and not value.strip())

    def missing(self, place: int) -> str:
        if place and self.about == "option":
            named = {"criterion": self.words, "n": place}
            return _("Score “%(criterion)s” of answer %(n)d.") % named
        return super().missing(place)

    def fields_of(self, row: base.Row, field: str, options: base.Options) -> dict[str, list[str]]:
        return {field: [row.label]}

    def value(self, row: base.Row, ids: Mapping[int, str]) -> int | float | None:
        """73.5 as a number; None where the row is empty."""
        if not row.label:
            return None
        number = Decimal(row.label)
        return int(number) if number == number.to_integral_value() else float(number)

    def released(self, row: base.Row, ids: Mapping[int, str]) -> Iterator[dict[str, Any]]:
        yield {**base.EMPTY_ROW, "value": self.value(row, ids)}

    def row_of(self, label: str | float, about: int | None = None) -> base.Row:
        number = _number(label, None)
        text = str(label) if number is None else _text(number)
        return self._about(base.Row(self.name, label=text), about)

    def expected(self, value: Any, candidates: Sequence[str], options: int) -> str:
        if label := self.label_of(value):
            return label
        raise DomainError(f"“expected”: {self._fault(value)}")

    def agrees(self, label: Any, expected: Any) -> bool:
        """A number counts as the expected one within the tolerance."""
        answered, wanted = _number(label, None), _number(expected, None)
        if answered is None or wanted is None:
            return False
        return abs(answered - wanted) <= _decimal(self.tolerance)

    def label_words(self, label: str) -> str:
        return f"{label} {self.unit}" if self.unit else label

    def _end(self, place: int) -> str:
        number = _text(_decimal((self.minimum, self.maximum)[place]))
        return self.label_words(number)

    @property
    def bounds(self) -> str:
        """Both ends with their names, and the step where it is not 1."""
        ends = [self._end(0), self._end(1)]
        for place, texts in enumerate(self.ends):
            if name := base.text_in(texts):
                ends[place] += f" ({name})"
        words = {"low": ends[0], "high": ends[1], "step": _text(_decimal(self.step))}
        if self.step == 1:
            return _("%(low)s to %(high)s") % words
        return _("%(low)s to %(high)s, in steps of %(step)s") % words


def _decimal(number: float) -> Decimal:
    return Decimal(str(number))


def _decimals(step: float) -> int:
    exponent = _decimal(step).normalize().as_tuple().exponent
    return max(0, -int(exponent))


def _number(value: Any, decimals: int | None) -> Decimal | None:
    """A number of JSON, or written with a point or a comma; None of anything else.

    A comma before three digits is one where numbers have as many ``decimals``: 1,000 may mean a
    thousand.
    """
    if type(value) in (int, float) and abs(value) <= LARGEST:
        value = repr(value)
    match = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    whole, sign, part = match.groups(default="")
    if sign == "," and decimals is not None and len(part) == 3 > decimals:
        return None
    return Decimal(f"{whole}.{part or 0}")


def _text(number: Decimal) -> str:
    text = f"{number.normalize():f}"
    return "0" if text == "-0" else text
