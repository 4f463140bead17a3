"""Correlations of scores and of orders: Pearson's and Spearman's, Kendall's W, intraclass.

Pearson's and Spearman's are of a contingency table: scores are discrete, so a million of them are a
table of a few dozen cells; sums over the cells give the digits that sums over the scores would.
Intraclass correlations follow Shrout and Fleiss (1979), from sums of squares.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .bootstrap import resampled_weights
from .coefficient import CONFIDENCE, Coefficient, undefined, with_resamples, with_t_interval
from .kappas import Patterns, patterns_of

CONSTANT = "one of the two scores does not vary"
NO_ITEM = "no item has two rankings that differ in their places"
FORMS = ("icc1", "icc2", "icc3", "icc1k", "icc2k", "icc3k")
NOISE = 1e-12
NOT_CROSSED = "not every rater scored every item: only the one-way forms are defined"


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation with its two-sided p-value, or None with the reason."""

    value: float | None
    p: float | None = None
    reason: str | None = None


def contingency(x: ArrayLike, y: ArrayLike, rows: int, columns: int) -> np.ndarray:
    """Counts (rows, columns) of whole-number codes ``x`` and ``y`` from 0."""
    cell = np.multiply(x, columns, dtype=np.intp)
    cell += y
    return np.bincount(cell, minlength=rows * columns).reshape(rows, columns)


def pearson(table: np.ndarray, x_values: ArrayLike, y_values: ArrayLike) -> Correlation:
    """Pearson's correlation of the values of a table's rows and columns."""
    fault = _fault(table)
    return fault or _with_t(_product_moment(table, x_values, y_values), int(table.sum()))


def spearman(table: np.ndarray) -> Correlation:
    """Spearman's rho: Pearson's of the mid-ranks of rows and columns."""
    fault = _fault(table)
    if fault:
        return fault
    counts = (table.sum(axis=axis) for axis in (1, 0))
    ranks = (np.cumsum(each) - (each - 1) / 2 for each in counts)
    return _with_t(_product_moment(table, *ranks), int(table.sum()))


def item_bootstrap(
    item: ArrayLike,
    x: ArrayLike,
    y: ArrayLike,
    shape: tuple[int, int],
    statistic: Callable[[np.ndarray], Correlation],
    resamples: int = 1000,
    seed: int = 0,
) -> Coefficient:
    """Coefficient with the percentile interval over items of ``statistic`` (table -> Correlation).

    One row a pair of scores: codes of its ``item`` and of ``x`` and ``y``; ``shape`` is the
    table's. Pairs of scores on one item stay together in every resample.
    """
    cells = shape[0] * shape[1]
    cell = np.multiply(x, shape[1], dtype=np.intp) + y
    items = int(np.max(item)) + 1
    per_item = patterns_of(contingency(item, cell, items, cells))
    estimate = statistic(per_item.totals.reshape(shape))
    if estimate.value is None:
        return undefined(estimate.reason or CONSTANT)
    draws = [
        statistic(row.reshape(shape)).value
        for block in resampled_weights(per_item.weight, resamples, seed)
        for row in block @ per_item.counts
    ]
    return with_resamples(estimate.value, [np.nan if draw is None else draw for draw in draws])


def _fault(table: np.ndarray) -> Correlation | None:
    if np.asarray(table).sum() < 2:
        return Correlation(None, reason="two pairs of scores are needed")
    if any(np.count_nonzero(np.sum(table, axis=axis)) < 2 for axis in (0, 1)):
        return Correlation(None, reason=CONSTANT)
    return None


def _product_moment(table: np.ndarray, x_values: ArrayLike, y_values: ArrayLike) -> float:
    n, rows, columns = table.sum(), table.sum(axis=1), table.sum(axis=0)
    x, y = np.asarray(x_values, dtype=float), np.asarray(y_values, dtype=float)
    x, y = x - rows @ x / n, y - columns @ y / n
    value = (x @ table @ y) / np.sqrt(rows @ x**2) / np.sqrt(columns @ y**2)
    return float(np.clip(value, -1, 1))


def _with_t(value: float, n: int) -> Correlation:
    if n < 3:
        return Correlation(value, None, "a p-value needs three pairs of scores")
    if abs(value) == 1:
        return Correlation(value, 0.0)
    t = value * np.sqrt((n - 2) / (1 - value**2))
    return Correlation(value, float(2 * scipy.special.stdtr(n - 2, -abs(t))))


def mean_ranks(rows: np.ndarray) -> np.ndarray:
    """The rank of each value within its row, from 1; equal values get the mean of theirs."""
    value, others = rows[:, :, None], rows[:, None, :]
    return (value > others).sum(axis=2) + ((value == others).sum(axis=2) + 1) / 2


def concordance(places: np.ndarray) -> float:
    """Kendall's W of ``places`` (raters, things), 1 is best; equal places get their mean rank.

    NaN of fewer than two raters or things, or where everybody puts all things on one place.
    With the correction for ties of Kendall and Babington Smith (1939), Kendall (1945).
    """
    raters, things = places.shape
    if raters < 2 or things < 2:
        return float("nan")
    ranks = mean_ranks(places)
    sums = ranks.sum(axis=0)
    spread = float(((sums - sums.mean()) ** 2).sum())
    sizes = (np.unique(row, return_counts=True)[1] for row in places)
    ties = sum(float((n**3 - n).sum()) for n in sizes)
    most = raters**2 * (things**3 - things) - raters * ties
    return 12 * spread / most if most > 0 else float("nan")


def mean_over_items(values: list[float], *, floor: float) -> Coefficient:
    """The mean of the items' ``values`` (NaN: left out) with the t-interval over items."""
    defined = np.array([value for value in values if np.isfinite(value)])
    if not defined.size:
        return undefined(NO_ITEM)
    error = defined.std(ddof=1) / np.sqrt(defined.size) if defined.size > 1 else 0.0
    return with_t_interval(defined.mean(), error, defined.size, floor=floor)


def concordance_report(rankings: Sequence[np.ndarray]) -> dict:
    """Kendall's W and the mean rank correlation over items, for storing.

    ``rankings`` are the ``places`` (raters, things) of each item.
    """
    paired = [places for places in rankings if len(places) > 1]
    w = [concordance(places) for places in paired]
    r = [(len(p) * value - 1) / (len(p) - 1) for p, value in zip(paired, w, strict=True)]
    return {
        "paired_items": len(paired),
        "kendall_w": mean_over_items(w, floor=0.0).as_json(),
        "rank_correlation": mean_over_items(r, floor=-1.0).as_json(),
    }


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
    sums = _without_noise(sums)
    out = _one_way(sums)
    if sums.of_raters is None:
        return {form: out.get(form, undefined(NOT_CROSSED)) for form in FORMS}
    out |= _two_way(sums, sums.of_raters)
    return {form: out[form] for form in FORMS}


def _without_noise(sums: Sums) -> Sums:
    """The sums with 0 where rounding alone keeps one from it: it would be divided by."""
    least = NOISE * (sums.between + sums.within)
    between, within = (x if x > least else 0.0 for x in (sums.between, sums.within))
    return replace(sums, between=between, within=within)


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
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = (k - 1) * (items - 1) * (k * value * ratio + inner) ** 2
        degrees /= (items - 1) * (k * value * ratio) ** 2 + inner**2
        fdtri = scipy.special.fdtri
        low_f, high_f = fdtri(items - 1, degrees, upper), fdtri(degrees, items - 1, upper)
        rest = k * of_raters + (k * items - k - items) * error
        low = items * (between - low_f * error) / (low_f * rest + items * between)
        high = items * (high_f * between - error) / (rest + items * high_f * between)
    # With hardly any degrees of freedom the approximation has no limits, or such as miss the value.
    return (low, high) if low <= value <= high else None
