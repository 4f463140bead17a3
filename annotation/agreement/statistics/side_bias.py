"""Does the side an answer is shown on decide votes?"""

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .coefficient import Coefficient, undefined, with_normal_interval
from .intervals import coin_test, holm


def side_bias(item: ArrayLike, chose_first: ArrayLike) -> tuple[Coefficient, float | None]:
    """Share of votes for the side shown first, with p-value of "no bias", clustered by item.

    One row a vote: code of its ``item``, and ``chose_first`` 1 or 0. Votes on one item are not
    independent, items are; sides should be balanced within items. Returns (Coefficient, p); the
    p-value is None where the share is undefined.
    """
    item, chose = np.asarray(item), np.asarray(chose_first, dtype=float)
    sizes = np.bincount(item)
    excess = 2 * np.bincount(item, weights=chose) - sizes
    excess = np.sort(excess[sizes > 0])
    items, votes = len(excess), len(item)
    if items < 2:
        return undefined("two items are needed"), None
    spread = ((excess - excess.mean()) ** 2).sum() * items / (items - 1)
    if spread == 0:
        return undefined("every item leans to the same side by the same number of votes"), None
    z = excess.sum() / math.sqrt(spread)
    share = 0.5 + excess.sum() / (2 * votes)
    bias = with_normal_interval(share, math.sqrt(spread) / (2 * votes))
    return bias, float(2 * scipy.special.ndtr(-abs(z)))


def annotator_side_bias(
    worker: ArrayLike, chose_first: ArrayLike, workers: int
) -> dict[str, np.ndarray]:
    """Per annotator: votes, votes for the side shown first, exact p-value and Holm's adjustment.

    An annotator's votes are on different items, so the exact binomial test holds. Returns a
    dictionary of arrays (workers,).
    """
    votes = np.bincount(worker, minlength=workers)
    first = np.bincount(np.asarray(worker)[np.asarray(chose_first, dtype=bool)], minlength=workers)
    p = coin_test(first, votes)
    return {"votes": votes, "first": first, "p": p, "p_holm": holm(p)}
