"""Pearson, Spearman and Kendall's tau-b from a contingency table.

Scores are discrete, so a million of them are a table of a few dozen cells; sums over the cells give
the digits that sums over the scores would.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from annotation.agreement.statistics.bootstrap import resampled_weights
from annotation.agreement.statistics.coefficient import Coefficient, undefined, with_resamples
from annotation.agreement.statistics.kappas import patterns_of

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


def kendall_tau_b(table: np.ndarray) -> Correlation:
    """Kendall's tau-b with the large-sample p-value that allows for ties (Kendall 1970)."""
    fault = _fault(table)
    if fault:
        return fault
    table = np.asarray(table, dtype=np.int64)
    n = int(table.sum())
    balance = _concordant(table) - _concordant(table[:, ::-1])
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    pairs = n * (n - 1) // 2
    tied = [int((side * (side - 1)).sum()) // 2 for side in (rows, columns)]
    value = balance / np.sqrt(pairs - tied[0]) / np.sqrt(pairs - tied[1])
    if n < 3:
        return Correlation(float(value), None, "a p-value needs three pairs of scores")
    z = balance / np.sqrt(_tau_variance(n, rows, columns, tied))
    return Correlation(float(value), float(2 * scipy.special.ndtr(-abs(z))))


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


def _concordant(table: np.ndarray) -> int:
    """Pairs in which both scores are larger, from sums of the cells below and to the right."""
    beyond = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    return int((table[:-1, :-1] * beyond[1:, 1:]).sum())


def _tau_variance(n: int, rows: np.ndarray, columns: np.ndarray, tied: list[int]) -> float:
    ordered = n * (n - 1)
    runs = [float((s * (s - 1.0) * (2 * s + 5)).sum()) for s in (rows, columns)]
    triples = [float((s * (s - 1.0) * (s - 2)).sum()) for s in (rows, columns)]
    return (
        (ordered * (2.0 * n + 5) - sum(runs)) / 18
        + 2.0 * tied[0] * tied[1] / ordered
        + triples[0] * triples[1] / (9.0 * ordered * (n - 2))
    )
