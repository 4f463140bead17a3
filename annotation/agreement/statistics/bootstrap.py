"""Resampling of items: draws are made over patterns, so their cost does not grow with the items."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from . import kappas
from .kappas import Patterns

CHUNK_CELLS = 4_000_000


def resampled_weights(weight: ArrayLike, resamples: int, seed: int = 0) -> Iterator[np.ndarray]:
    """Yield blocks (rows, patterns) of item counts, each row one resample of all items.

    ``weight`` is the number of items of each pattern. Drawing N items with replacement is the
    multinomial over patterns; where nearly every item is a pattern of its own, drawing items is
    the faster way to the same law. The seed fixes the draws.
    """
    weight = np.asarray(weight)
    items, size = int(weight.sum()), len(weight)
    rng = np.random.default_rng(seed)
    rows = max(1, CHUNK_CELLS // size)
    owner = np.repeat(np.arange(size), weight) if size * 8 > items else None
    for start in range(0, resamples, rows):
        block = min(rows, resamples - start)
        if owner is None:
            yield rng.multinomial(items, weight / items, size=block)
        else:
            drawn = (owner[rng.integers(0, items, size=items)] for _ in range(block))
            yield np.stack([np.bincount(draw, minlength=size) for draw in drawn])


def resampled(
    patterns: Patterns,
    compute: Callable[[np.ndarray], dict[str, np.ndarray]],
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Values of every resample of the items, {name: (resamples,)}.

    ``compute`` takes the item counts of some resamples (rows, patterns) and gives {name: (rows,)}:
    what is computed from the same resamples is drawn once.
    """
    blocks = [compute(w) for w in resampled_weights(patterns.weight, resamples, seed)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def over_groups(
    compute: Callable[[np.ndarray], float], group: np.ndarray, resamples: int
) -> tuple[float | None, float | None, float | None]:
    """``compute`` of weights (rows,), with its 95 % percentile interval over groups of rows.

    ``group`` (rows,) are codes from 0; what is not finite is None.
    """
    groups = int(group.max()) + 1
    with np.errstate(invalid="ignore", divide="ignore"):
        value = compute(np.ones(len(group)))
        blocks = resampled_weights(np.ones(groups, int), resamples)
        draws = np.array([compute(weight[group]) for block in blocks for weight in block])
    draws = draws[np.isfinite(draws)]
    if not np.isfinite(value):
        return None, None, None
    low, high = np.quantile(draws, [0.025, 0.975]).tolist() if len(draws) > 1 else (None, None)
    return float(value), low, high


def weighted_kappas(patterns: Patterns, weights: np.ndarray) -> dict[str, np.ndarray]:
    """The kappas of each row of item counts ``weights`` (rows, patterns), NaN where undefined."""
    k, paired = patterns.categories, patterns.votes >= 2
    terms = np.zeros((len(paired), 2 + k))
    terms[paired, 0] = kappas.item_agreement(patterns)
    terms[:, 1] = paired
    terms[:, 2:] = patterns.shares
    sums = weights @ terms
    share = sums[:, 2:] / sums[:, 2:].sum(axis=1, keepdims=True)
    agreement = _ratio(sums[:, 0], sums[:, 1])
    squares = (share**2).sum(axis=1)
    chances = {
        "fleiss_kappa": squares,
        "symmetric_kappa": np.full(len(share), 1 / k),
        "gwet_ac1": (1 - squares) / max(k - 1, 1),
    }
    out = {name: _ratio(agreement - e, 1 - e) for name, e in chances.items()}
    return {"percent_agreement": agreement, **out, "brennan_prediger": out["symmetric_kappa"]}


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.full(len(top), np.nan), where=bottom > 1e-12)
