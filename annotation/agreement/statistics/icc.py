"""Intraclass correlations after Shrout and Fleiss (1979), from sums of squares."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .coefficient import CONFIDENCE, Coefficient, undefined
from .kappas import Patterns

FORMS = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
NOT_CROSSED = "not every rater scored every item: only the one-way forms are defined"


@dataclass(frozen=True)
class Sums:
    """Sums of squares of scores.

    ``items`` N; ``raters`` is votes an item, or n₀ where the numbers differ; ``between`` over
    items, ``within`` items, and ``of_raters`` the part of ``within`` that is differences of
    raters' means (None where items have different raters); ``within_df`` degrees of freedom.
    """

    items: int
    raters: float
    between: float
    within: float
    within_df: int
    of_raters: float | None = None


def sums_of_table(scores: ArrayLike) -> Sums:
    """Sums of squares of a complete (items, raters) table."""
    table = np.asarray(scores, dtype=float)
    items, raters = table.shape
    table = table - table.mean()
    means = table.mean(axis=1)
    between = raters * (means @ means)
    of_raters = items * (table.mean(axis=0) ** 2).sum()
    flat = table.ravel()
    return Sums(items, raters, between, flat @ flat - between, items * (raters - 1), of_raters)


def sums_of_patterns(
    patterns: Patterns, values: ArrayLike, rater_counts: np.ndarray | None = None
) -> Sums:
    """Sums of squares from vote patterns over categories with numeric ``values``.

    ``rater_counts`` (raters, K) are each rater's votes by category; given only when every rater
    scored every item. Items may have different numbers of votes: then ``raters`` is
    n₀ = (n - Σn_i²/n)/(N - 1). One-vote items count in the between part.
    """
    numbers = np.asarray(values, dtype=float)
    n, total = patterns.votes, patterns.totals.sum()
    # The forms have no scale: squares of very small numbers would vanish.
    numbers = numbers / (np.ptp(numbers) or 1.0)
    numbers = numbers - (patterns.totals @ numbers) / total
    sums = patterns.counts @ numbers
    between = patterns.weight @ (sums**2 / n)
    within = patterns.totals @ numbers**2 - between
    typical = (total - patterns.weight @ n**2 / total) / max(patterns.items - 1, 1)
    of_raters = None
    if rater_counts is not None:
        of_raters = ((rater_counts @ numbers) ** 2).sum() / patterns.items
        typical = len(rater_counts)
    degrees = int(total) - patterns.items
    return Sums(patterns.items, float(typical), between, max(within, 0.0), degrees, of_raters)


def icc(sums: Sums) -> dict[str, Coefficient]:
    """The six forms as {name: Coefficient} with the F-interval; ``se`` is not defined and null.

    Forms 2 and 3 need crossed raters. With unequal numbers of votes the one-way interval uses n₀
    in place of k and is approximate.
    """
    if sums.items < 2 or sums.within_df < 1:
        reason = "two items and an item with two scores are needed"
        return {form: undefined(reason) for form in FORMS}
    if sums.between + sums.within <= 0:
        return {form: undefined("all scores are equal") for form in FORMS}
    out = _one_way(sums)
    if sums.of_raters is None:
        return {form: out.get(form, undefined(NOT_CROSSED)) for form in FORMS}
    out |= _two_way(sums, sums.of_raters)
    return {form: out[form] for form in FORMS}


def _one_way(sums: Sums) -> dict[str, Coefficient]:
    k, items = sums.raters, sums.items
    between, within = sums.between / (items - 1), sums.within / sums.within_df
    single = (between - within) / (between + (k - 1) * within)
    mean = (between - within) / between if between > 0 else None
    limits = _f_limits(between, within, items - 1, sums.within_df, k)
    return _pair("icc1", single, mean, k, limits)


def _two_way(sums: Sums, squares_of_raters: float) -> dict[str, Coefficient]:
    k, items = sums.raters, sums.items
    free = (items - 1) * (k - 1)
    between, of_raters = sums.between / (items - 1), squares_of_raters / (k - 1)
    error = max(sums.within - squares_of_raters, 0.0) / free
    both = between + (k - 1) * error + k * (of_raters - error) / items
    mean = between + (of_raters - error) / items
    agreement = (between - error) / both if both > 0 else None
    agreement_k = (between - error) / mean if mean > 0 else None
    limits = _agreement_limits(between, of_raters, error, agreement, items, k)
    single = between + (k - 1) * error
    consistent = (between - error) / single if single > 0 else None
    consistent_k = (between - error) / between if between > 0 else None
    out = _pair("icc2", agreement, agreement_k, k, limits)
    ratio = _f_limits(between, error, items - 1, free, k)
    return {**out, **_pair("icc3", consistent, consistent_k, k, ratio)}


def _pair(
    name: str,
    single: float | None,
    mean: float | None,
    k: float,
    limits: tuple[float, float] | None,
) -> dict[str, Coefficient]:
    """Single-score and mean-score form; the mean's limits are Spearman-Brown of the single's."""

    def made(value: float | None, stepped: bool) -> Coefficient:
        if value is None:
            return undefined("no variance between items")
        if limits is None:
            return Coefficient(float(value))
        low, high = (_limit(x, k, stepped) for x in limits)
        return Coefficient(float(value), None, low, high)

    return {name: made(single, False), name + "k": made(mean, True)}


def _limit(single: float, k: float, stepped: bool) -> float | None:
    if not stepped:
        return float(single)
    return float(k * single / (1 + (k - 1) * single)) if 1 + (k - 1) * single > 0 else None


def _f_limits(
    between: float, error: float, df_between: float, df_error: float, k: float
) -> tuple[float, float] | None:
    """Limits of a single-score form from F = between / error."""
    if error <= 0:
        return None
    upper = (1 + CONFIDENCE) / 2
    low = between / error / scipy.special.fdtri(df_between, df_error, upper)
    high = between / error * scipy.special.fdtri(df_error, df_between, upper)
    return (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)


def _agreement_limits(
    between: float, of_raters: float, error: float, value: float | None, items: int, k: float
) -> tuple[float, float] | None:
    if error <= 0 or value is None:
        return None
    ratio, upper = of_raters / error, (1 + CONFIDENCE) / 2
    inner = items * (1 + (k - 1) * value) - k * value
    degrees = (k - 1) * (items - 1) * (k * value * ratio + inner) ** 2
    degrees /= (items - 1) * (k * value * ratio) ** 2 + inner**2
    fdtri = scipy.special.fdtri
    low_f, high_f = fdtri(items - 1, degrees, upper), fdtri(degrees, items - 1, upper)
    rest = k * of_raters + (k * items - k - items) * error
    low = items * (between - low_f * error) / (low_f * rest + items * between)
    high = items * (high_f * between - error) / (rest + items * high_f * between)
    return low, high
