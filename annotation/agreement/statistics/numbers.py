"""Agreement on numbers, from three sums of each item: no table grows with how many there are."""

from typing import Any

import numpy as np

from .bootstrap import resampled_weights
from .coefficient import ONE_ITEM, Coefficient, undefined, with_resamples
from .correlation import Sums, icc
from .kappas import NO_PAIR, ONE_CATEGORY, votes_per_item


def numbers_report(
    item: np.ndarray, rater: np.ndarray, value: np.ndarray, resamples: int = 1000
) -> dict[str, Any]:
    """How much there is, Krippendorff's alpha at interval level and the six forms of the ICC.

    ``item`` and ``rater`` are codes from 0 of each vote, ``value`` its number; an item has no two
    votes of one rater. ``resamples`` draws of items give the interval of alpha.
    """
    item, n = _coded(item)
    rater, votes_of_rater = _coded(rater)
    # Neither has a scale: squares of large numbers would leave floating point.
    value = np.asarray(value, dtype=float)
    value = (value - value.mean()) / (np.ptp(value) or 1.0)
    total = np.bincount(item, value)
    squares = np.bincount(item, value**2)
    sums = _sums(n, total, squares, np.bincount(rater, value), votes_of_rater)
    alpha = _alpha(n, total, squares, resamples)
    return {
        "items": len(n),
        "paired_items": int(np.count_nonzero(n > 1)),
        "votes": len(value),
        "workers": len(votes_of_rater),
        "votes_per_item": votes_per_item(n),
        "krippendorff_alpha": {"interval": alpha.as_json()},
        "icc": {form: each.as_json() for form, each in icc(sums).items()},
    }


def _coded(names: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes without gaps, and how often each occurs."""
    _names, code, counts = np.unique(names, return_inverse=True, return_counts=True)
    return code, counts


def _alpha(n: np.ndarray, total: np.ndarray, squares: np.ndarray, resamples: int) -> Coefficient:
    paired = n > 1
    if not paired.any():
        return undefined(NO_PAIR)
    n, total, squares = n[paired].astype(float), total[paired], squares[paired]
    observed = (n * squares - total**2) / (n - 1)
    columns = np.stack([n, total, squares, observed], axis=1)

    def alphas(weights: np.ndarray) -> np.ndarray:
        votes, total, squares, observed = (weights @ columns).T
        expected = votes * squares - total**2
        varied = expected > 1e-12 * votes**2
        ratio = np.divide(observed, expected, out=np.full(len(votes), np.nan), where=varied)
        return 1 - (votes - 1) * ratio

    value = float(alphas(np.ones((1, len(n))))[0])
    if np.isnan(value):
        return undefined(ONE_CATEGORY)
    if len(n) < 2:
        return Coefficient(value, reason=ONE_ITEM)
    if not resamples:
        return Coefficient(value, reason="no resamples were asked for")
    blocks = resampled_weights(np.ones(len(n), dtype=int), resamples)
    return with_resamples(value, np.concatenate([alphas(block) for block in blocks]))


def _sums(
    n: np.ndarray, total: np.ndarray, squares: np.ndarray, by_rater: np.ndarray, rated: np.ndarray
) -> Sums:
    """Sums of squares of centred numbers (``correlation.sums_of_patterns``)."""
    votes, items = int(n.sum()), len(n)
    between = float((total**2 / n).sum())
    within = max(float(squares.sum()) - between, 0.0)
    raters, of_raters = (votes - (n**2).sum() / votes) / max(items - 1, 1), None
    if len(rated) > 1 and (rated == items).all():
        raters, of_raters = len(rated), float((by_rater**2).sum() / items)
    return Sums(items, float(raters), between, within, votes - items, of_raters)
