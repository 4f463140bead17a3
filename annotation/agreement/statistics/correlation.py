"""Pearson's and Spearman's correlation from a contingency table.

Scores are discrete, so a million of them are a table of a few dozen cells; sums over the cells give
the digits that sums over the scores would.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .bootstrap import resampled_weights
from .coefficient import Coefficient, undefined, with_resamples
from .kappas import patterns_of

CONSTANT = "one of the two scores does not vary"


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
    ranks = (_mid_ranks(table.sum(axis=axis)) for axis in (1, 0))
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


def _mid_ranks(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts) - (counts - 1) / 2
