"""Krippendorff's alpha at four levels, with missing votes (Krippendorff 2011)."""

import numpy as np

from .bootstrap import resampled_weights
from .coefficient import Coefficient, undefined, with_resamples
from .stats import NO_PAIR, ONE_CATEGORY


def alpha(patterns, level="nominal", values=None, resamples=1000, seed=0):
    """Alpha over the items with two votes or more, with a percentile interval over items.

    ``values`` are the categories' numbers, rising, from interval level on; at ordinal level the
    columns' order is what counts. ``resamples`` items-bootstrap draws give ``se`` and interval; 0
    leaves them null.
    """
    pairs = patterns.paired
    if not pairs.items:
        return undefined(NO_PAIR)
    if np.count_nonzero(pairs.totals) < 2:
        return undefined(ONE_CATEGORY)
    if level == "ratio" and min(values) < 0:
        return undefined("ratio level needs numbers that are not negative")
    value = float(_alphas(pairs, pairs.weight[None, :], level, values)[0])
    if not resamples:
        return Coefficient(value, reason="no resamples were asked for")
    draws = [
        _alphas(pairs, weights, level, values)
        for weights in resampled_weights(pairs.weight, resamples, seed)
    ]
    return with_resamples(value, np.concatenate(draws))


def coincidences(patterns):
    """Krippendorff's coincidence matrix (K, K): pairs of votes within items, each over n_i - 1."""
    pairs = patterns.paired
    v, scale = pairs.counts, pairs.weight / (pairs.votes - 1)
    return (v.T * scale) @ v - np.diag(scale @ v)


def _alphas(pairs, weights, level, values):
    """Alpha of each row of item weights; NaN where a resample holds one category only.

    Disagreement of an item is linear in the items for a fixed distance; the ordinal distance is
    the squared difference of mid-ranks, which each resample has its own.
    """
    marginals = weights @ pairs.counts
    if level == "ordinal":
        observed, expected = _ordinal_disagreement(pairs, weights, marginals)
    elif level == "nominal":
        n = pairs.votes
        observed = weights @ ((n**2 - (pairs.counts**2).sum(axis=1)) / (n - 1))
        expected = marginals.sum(axis=1) ** 2 - (marginals**2).sum(axis=1)
    else:
        distance = _distance(level, values)
        of_item = ((pairs.counts @ distance) * pairs.counts).sum(axis=1) / (pairs.votes - 1)
        observed = weights @ of_item
        expected = ((marginals @ distance) * marginals).sum(axis=1)
    total = marginals.sum(axis=1)
    varied = np.count_nonzero(marginals, axis=1) > 1
    ratio = np.divide(observed, expected, out=np.full(len(total), np.nan), where=varied)
    return 1 - (total - 1) * ratio


def _distance(level, values):
    values = np.asarray(values, dtype=float)
    gap = values[:, None] - values[None, :]
    if level == "interval":
        return gap**2
    total = values[:, None] + values[None, :]
    return np.divide(gap, total, out=np.zeros_like(gap), where=total != 0) ** 2


def _ordinal_disagreement(pairs, weights, marginals):
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
