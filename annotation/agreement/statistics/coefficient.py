"""A coefficient with its interval, and intervals and tests of shares."""

import math
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

    @property
    def limits(self) -> tuple[float | None, float | None, float | None]:
        """Value, low and high."""
        return self.value, self.low, self.high

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


def with_t_interval(value: float, se: float, units: int, *, floor: float = -1.0) -> Coefficient:
    """Coefficient with the t-interval on ``units`` - 1 degrees, cut at ``floor`` and at 1.

    One unit has no standard error: the value stays, the interval is null with the reason.
    """
    value = float(value)
    if units < 2:
        return Coefficient(value, reason=ONE_ITEM)
    reach = float(scipy.special.stdtrit(units - 1, (1 + CONFIDENCE) / 2)) * float(se)
    # With unequal votes an item a kappa may lie below its lower bound: the interval holds it.
    low, high = max(min(floor, value), value - reach), min(1.0, value + reach)
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


NO_TRIALS = "nothing was counted"


def wilson(successes: float, trials: int) -> Coefficient:
    """Wilson's score interval (1927) for a share; undefined without trials."""
    if not trials:
        return undefined(NO_TRIALS)
    z = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))
    share = successes / trials
    middle = (share + z * z / (2 * trials)) / (1 + z * z / trials)
    reach = z * math.sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    reach /= 1 + z * z / trials
    low = 0.0 if successes == 0 else middle - reach
    high = 1.0 if successes == trials else middle + reach
    return Coefficient(share, math.sqrt(share * (1 - share) / trials), low, high)


def clopper_pearson(successes: int, trials: int) -> Coefficient:
    """The exact binomial interval (Clopper and Pearson 1934); undefined without trials."""
    if not trials:
        return undefined(NO_TRIALS)
    tail = (1 - CONFIDENCE) / 2
    share = successes / trials
    low = scipy.special.betaincinv(successes, trials - successes + 1, tail) if successes else 0.0
    high = (
        scipy.special.betaincinv(successes + 1, trials - successes, 1 - tail)
        if successes < trials
        else 1.0
    )
    se = math.sqrt(share * (1 - share) / trials)
    return Coefficient(share, se, float(low), float(high))


def coin_test(successes: ArrayLike, trials: ArrayLike) -> np.ndarray:
    """Two-sided exact p-value of a fair coin; arrays are allowed, 1 where nothing was thrown."""
    successes, trials = np.asarray(successes), np.asarray(trials)
    below = scipy.special.bdtr(successes, trials, 0.5)
    above = np.where(
        successes > 0, scipy.special.bdtrc(np.maximum(successes - 1, 0), trials, 0.5), 1.0
    )
    return np.minimum(1.0, 2 * np.minimum(below, above))


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's (1979) adjusted p-values, in the order given."""
    p_values = np.asarray(p_values, dtype=float)
    order = np.argsort(p_values, kind="stable")
    steps = p_values[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty_like(p_values)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return adjusted
