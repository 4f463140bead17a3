"""The one shape every statistic of agreement leaves in: a value with its interval, or a reason."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

CONFIDENCE = 0.95
ONE_ITEM = "one item has no standard error"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A statistic with standard error and interval at 95 %, or ``value=None`` and the reason."""

    value: float | None
    se: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None

    def as_json(self) -> dict[str, float | str | None]:
        """The contract's form: four numbers, or null with the reason."""
        if self.value is None:
            return {"value": None, "reason": self.reason}
        out: dict[str, float | str | None] = {
            "value": self.value,
            "se": self.se,
            "low": self.low,
            "high": self.high,
        }
        return out if self.reason is None else {**out, "reason": self.reason}


def undefined(reason: str) -> Coefficient:
    """A coefficient that has no value, and why."""
    return Coefficient(None, reason=reason)


def with_t_interval(
    value: float, se: float, units: int, *, floor: float = -1.0, ceiling: float = 1.0
) -> Coefficient:
    """Coefficient with the t-interval on ``units`` - 1 degrees, cut at the statistic's own limits.

    One unit has no standard error: the value stays, the interval is null with the reason.
    """
    value = float(value)
    if units < 2:
        return Coefficient(value, reason=ONE_ITEM)
    reach = float(scipy.special.stdtrit(units - 1, (1 + CONFIDENCE) / 2)) * float(se)
    # With unequal votes an item a kappa may lie below its lower bound: the interval holds it.
    low, high = max(min(floor, value), value - reach), min(ceiling, value + reach)
    return Coefficient(value, float(se), low, high)


def with_normal_interval(value: float, se: float) -> Coefficient:
    """Coefficient with the large-sample interval value ± 1.96 se, not cut."""
    reach = float(scipy.special.ndtri((1 + CONFIDENCE) / 2)) * float(se)
    return Coefficient(float(value), float(se), float(value) - reach, float(value) + reach)


def with_resamples(
    value: float, resamples: ArrayLike, reason: str = "no resample had a value"
) -> Coefficient:
    """Coefficient with the percentile interval of its bootstrap values; undefined ones (NaN) drop.

    ``resamples`` may be empty: then there is a value and no interval.
    """
    defined = np.sort(resamples)
    defined = defined[np.isfinite(defined)]
    if defined.size < 2:
        return Coefficient(float(value), reason=reason)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.interp([tail, 1 - tail], np.linspace(0, 1, defined.size), defined)
    return Coefficient(float(value), float(defined.std(ddof=1)), float(low), float(high))
