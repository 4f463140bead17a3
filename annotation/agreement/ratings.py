"""Aspect scores against choices: does the answer with the higher score win?

One *pair* is the chosen answer of an item and one it won against, with the difference of their
scores. Every pair counts in both orders, so the order in which answers are stored does not matter:
with d the differences, Pearson's correlation of ±d with ±1 is Σd / √(N·Σd²), and tau-b is that of
the doubled rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from annotation.agreement.statistics.bootstrap import resampled_weights
from annotation.agreement.statistics.coefficient import Coefficient, undefined, with_resamples
from annotation.agreement.statistics.kappas import patterns_of

MAX_CELLS = 50_000_000
CHUNK_CELLS = 1_000_000
FEW_VALUES = 64
NO_PAIR_SCORED = "no pair has both of its scores"
NEVER_DIFFER = "the two scores of every pair are equal"
NO_DRAWS = "no interval: it was not asked for, or there are too many different scores"


@dataclass(frozen=True)
class Rating:
    """How an aspect's scores go with the choices.

    ``items`` and ``pairs`` are what it was computed from, ``equal`` the pairs with equal scores.
    ``accuracy`` is the share of pairs in which the chosen answer has the higher score, equal ones
    counted as half; ``pearson`` and ``tau_b`` are correlations of score and choice.
    """

    items: int
    pairs: int
    equal: int
    accuracy: Coefficient
    pearson: Coefficient
    tau_b: Coefficient

    def as_json(self) -> dict[str, Any]:
        """Numbers and coefficients by name."""
        coefficients = {
            name: getattr(self, name).as_json() for name in ("accuracy", "pearson", "tau_b")
        }
        return {"items": self.items, "pairs": self.pairs, "equal": self.equal, **coefficients}


def rate(item: ArrayLike, difference: ArrayLike, resamples: int = 1000, seed: int = 0) -> Rating:
    """Rating of pairs: codes of their ``item`` from 0, and ``difference`` chosen minus other score.

    Intervals are percentiles over ``resamples`` draws of items; pairs of one item stay together.
    There is none where draws times different values are more than MAX_CELLS.
    """
    item, difference = np.asarray(item), np.asarray(difference, dtype=float)
    if not len(difference):
        nothing = undefined(NO_PAIR_SCORED)
        return Rating(0, 0, 0, nothing, nothing, nothing)
    items, item = np.unique(item, return_inverse=True)
    # The values rise and mirror one another: the other order of a pair has the mirrored place.
    values = np.unique(np.concatenate([difference, -difference]))
    place = np.searchsorted(values, difference)
    estimates = _statistics(np.bincount(place, minlength=len(values))[None, :], values)
    draws: Sequence[np.ndarray | tuple] = [()] * len(estimates)
    if resamples and resamples * len(values) <= MAX_CELLS:
        draws = _draws(item, place, len(items), values, resamples, seed)
    coefficients = (_coefficient(*both) for both in zip(estimates, draws, strict=True))
    equal = int(np.count_nonzero(difference == 0))
    return Rating(len(items), len(difference), equal, *coefficients)


def correlation(first: ArrayLike, second: ArrayLike) -> Coefficient:
    """Pearson's correlation of two aspects' differences of the same pairs, both orders counted."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not len(first):
        return undefined(NO_PAIR_SCORED)
    lengths = np.linalg.norm(first) * np.linalg.norm(second)
    if not lengths:
        return undefined(NEVER_DIFFER)
    return Coefficient(float(np.clip(first @ second / lengths, -1, 1)))


def _coefficient(value: np.ndarray, draws: np.ndarray | tuple) -> Coefficient:
    if np.isnan(value[0]):
        return undefined(NEVER_DIFFER)
    return with_resamples(value[0], draws, NO_DRAWS)


def _draws(
    item: np.ndarray, place: np.ndarray, items: int, values: np.ndarray, resamples: int, seed: int
) -> list[np.ndarray]:
    """The three statistics of every resample of items."""
    weight, owner, times = np.ones(items, dtype=np.int64), item, np.ones(len(item), dtype=np.int64)
    if len(values) <= FEW_VALUES:
        # Items with equal differences are one pattern, so the cost does not grow with the items.
        cells = np.bincount(item * len(values) + place, minlength=items * len(values))
        patterns = patterns_of(cells.reshape(items, len(values)))
        owner, place = np.nonzero(patterns.counts)
        weight, times = patterns.weight, patterns.counts[owner, place]

    def counts(row: np.ndarray) -> np.ndarray:
        return np.bincount(place, weights=row[owner] * times, minlength=len(values))

    blocks = [
        _statistics(np.stack([counts(row) for row in rows]), values)
        for block in resampled_weights(weight, resamples, seed)
        for rows in np.array_split(block, -(-len(block) * len(values) // CHUNK_CELLS))
    ]
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _statistics(
    counts: np.ndarray, values: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy, Pearson and tau-b of each row of ``counts`` of pairs by difference ``values``.

    NaN for correlations where all differences are 0.
    """
    n = counts.sum(axis=1)
    above, equal = counts[:, values > 0].sum(axis=1), counts[:, values == 0].sum(axis=1)
    squares = counts @ values**2
    pearson = _ratio(counts @ values, np.sqrt(n * squares), squares > 0)
    # Rows of choice +1 lie at their value, those of -1 at its mirror image.
    mirrored = counts[:, ::-1]
    lower = np.cumsum(mirrored, axis=1) - mirrored
    balance = (counts * (2 * lower + mirrored - n[:, None])).sum(axis=1)
    column = counts + mirrored
    tied = (column * (column - 1) / 2).sum(axis=1)
    untied = n * (2 * n - 1) - tied
    tau_b = _ratio(balance, n * np.sqrt(untied), untied > 0)
    return (above + equal / 2) / n, pearson, tau_b


def _ratio(top: np.ndarray, bottom: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=where)
