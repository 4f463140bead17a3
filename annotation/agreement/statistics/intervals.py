"""Intervals and exact tests for one share of independent outcomes.

Votes on one item are not independent: for a win rate over items with several votes use
``stats.mean_share``.
"""

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .coefficient import CONFIDENCE, Coefficient, undefined

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
