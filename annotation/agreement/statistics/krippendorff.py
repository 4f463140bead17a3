"""Krippendorff's alpha at four levels, with missing votes (Krippendorff 2011)."""

from collections.abc import Sequence

import numpy as np

from .bootstrap import resampled
from .coefficient import (
    ONE_ITEM,
    Coefficient,
    undefined,
    with_resamples,
)
from .kappas import NO_PAIR, ONE_CATEGORY, Patterns


def alpha(
    patterns: Patterns,
    level: str = "nominal",
    values: Sequence[float] | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> Coefficient:
    """Alpha over the items with two votes or more, with a percentile interval over items.

    ``values`` are the categories' numbers, rising, from interval level on; at ordinal level the
    columns' order is what counts. ``resamples`` items-bootstrap draws give ``se`` and interval; 0
    leaves them null.
    """
    drawn = None
    if resamples and not fault(patterns, level, values):

        def compute(weights: np.ndarray) -> dict[str, np.ndarray]:
            return {level: alphas(patterns, weights, level, values)}

        drawn = resampled(patterns, compute, resamples, seed)[level]
    return with_draws(patterns, level, values, drawn)


def with_draws(
    patterns: Patterns, level: str, values: Sequence[float] | None, drawn: np.ndarray | None
) -> Coefficient:
    """Alpha with the interval of the resamples' values ``drawn`` (None: no interval)."""
    wrong = fault(patterns, level, values)
    if wrong:
        return wrong
    value = float(alphas(patterns, patterns.weight[None, :], level, values)[0])
    if np.isnan(value):
        return undefined("the numbers are too close to one another to tell them apart")
    if patterns.paired.items < 2:
        return Coefficient(value, reason=ONE_ITEM)
    if drawn is None:
        return Coefficient(value, reason="no resamples were asked for")
    return with_resamples(value, drawn)


def fault(
    patterns: Patterns, level: str, values: Sequence[float] | None = None
) -> Coefficient | None:
    """Why there is no alpha, as a Coefficient without a value; None where there is one."""
    if not patterns.paired.items:
        return undefined(NO_PAIR)
    if np.count_nonzero(patterns.paired.totals) < 2:
        return undefined(ONE_CATEGORY)
    if level == "ratio" and values is not None and min(values) < 0:
        return undefined("ratio level needs numbers that are not negative")
    return None


def alphas(
    patterns: Patterns, weights: np.ndarray, level: str, values: Sequence[float] | None
) -> np.ndarray:
    """Alpha of each row of item counts ``weights`` (rows, patterns).

    NaN where a resample holds one category only. For a fixed distance the disagreement is a sum
    over items; the ordinal distance is of mid-ranks, which each resample has its own.
    """
    pairs = patterns.paired
    weights = weights[:, patterns.votes >= 2]
    marginals = weights @ pairs.counts
    if level == "ordinal":
        observed, expected = _ordinal_disagreement(pairs, weights, marginals)
    elif level == "nominal":
        n = pairs.votes
        observed = weights @ ((n**2 - (pairs.counts**2).sum(axis=1)) / (n - 1))
        expected = marginals.sum(axis=1) ** 2 - (marginals**2).sum(axis=1)
    else:
        distance = _distance(level, np.asarray(values, dtype=float))
        of_item = ((pairs.counts @ distance) * pairs.counts).sum(axis=1) / (pairs.votes - 1)
        observed = weights @ of_item
        expected = ((marginals @ distance) * marginals).sum(axis=1)
    total = marginals.sum(axis=1)
    varied = (np.count_nonzero(marginals, axis=1) > 1) & (expected > 0)
    ratio = np.divide(observed, expected, out=np.full(len(total), np.nan), where=varied)
    return 1 - (total - 1) * ratio


def _distance(level: str, values: np.ndarray) -> np.ndarray:
    gap = values[:, None] - values[None, :]
    if level == "interval":
        # Alpha has no scale: squares of very small or large numbers would leave floating point.
        return (gap / (np.ptp(values) or 1.0)) ** 2
    total = values[:, None] + values[None, :]
    return np.divide(gap, total, out=np.zeros_like(gap), where=total != 0) ** 2


def _ordinal_disagreement(
    pairs: Patterns, weights: np.ndarray, marginals: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    rank = np.cumsum(marginals, axis=1) - marginals / 2
    # Centred ranks keep the difference of two large sums exact enough.
    rank = rank - marginals.sum(axis=1, keepdims=True) / 2
    scale = weights / (pairs.votes - 1)
    rank_sum = rank @ pairs.counts.T
    square = rank**2
    crossed = (scale * rank_sum**2).sum(axis=1) - ((scale @ pairs.counts) * square).sum(axis=1)
    spread = (marginals * square).sum(axis=1)
    mean = (marginals * rank).sum(axis=1)
    total = marginals.sum(axis=1)
    return 2 * (spread - crossed), 2 * (total * spread - mean**2)
