"""Signs that an annotator does not read, or that the side decides. They remove no vote."""

import math
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .coefficient import Coefficient, coin_test, holm, undefined, with_normal_interval

LEAST_VOTES = 50
TAIL = 0.001
SLOW_Z = -3.0
# Seconds a thousand characters: nobody reads them (some 170 English words) in less.
FLOOR = 10.0
FAST_SHARE = 0.2
LAST_VOTES = 50
SAME_VECTORS = 0.9
LEAST_VECTORS = 20


def agreement_flags(
    item: np.ndarray, worker: np.ndarray, category: np.ndarray, shape: tuple[int, int, int]
) -> dict[str, Any]:
    """Annotators who agree with the majority of the *others* less often than the pool does.

    One row a vote; ``shape`` is (items, workers, categories). Votes on items where the others are
    split evenly, or absent, carry no information and are left out. Returns arrays (workers,):
    ``votes``, ``agreed``, ``p`` (binomial lower tail at the pool's rate) and ``flagged``
    (p under 0.001, never under 50 votes); and the ``pool_rate``, None where no vote could be
    compared.
    """
    items, workers, k = shape
    cell = np.multiply(item, k, dtype=np.intp) + category
    counts = np.bincount(cell, minlength=items * k).reshape(items, k)
    row = np.arange(len(cell))
    others = counts[item]
    others[row, category] -= 1
    top = others.max(axis=1)
    clear = (top > 0) & ((others == top[:, None]).sum(axis=1) == 1)
    agreed = clear & (others[row, category] == top)
    votes = np.bincount(np.asarray(worker)[clear], minlength=workers)
    with_most = np.bincount(np.asarray(worker)[agreed], minlength=workers)
    pool_rate = with_most.sum() / votes.sum() if votes.sum() else None
    p = np.ones(workers) if pool_rate is None else scipy.special.bdtr(with_most, votes, pool_rate)
    flagged = (votes >= LEAST_VOTES) & (p < TAIL)
    return {
        "votes": votes, "agreed": with_most, "p": p, "flagged": flagged, "pool_rate": pool_rate,
    }  # fmt: skip


def robust_z(seconds: ArrayLike, kind: ArrayLike) -> np.ndarray:
    """Robust z of log time within each task kind: (x - median) / (1.4826 · MAD); NaN if no spread.

    ``seconds`` above 0, ``kind`` whole-number codes of the task kinds.
    """
    log = np.log(np.asarray(seconds, dtype=float))
    z = np.full(len(log), np.nan)
    for code in np.unique(kind):
        rows = np.asarray(kind) == code
        middle = np.median(log[rows])
        spread = 1.4826 * np.median(np.abs(log[rows] - middle))
        if spread > 0:
            z[rows] = (log[rows] - middle) / spread
    return z


def speed_flags(
    worker: ArrayLike, pace: ArrayLike, kind: ArrayLike, workers: int
) -> dict[str, np.ndarray]:
    """Annotators whose median time, or whose recent times, are far below everybody's.

    Rows are votes in order of submission, ``pace`` (votes,) their seconds a thousand characters
    shown; below FLOOR the text cannot have been read. Returns arrays (workers,): ``median_z``,
    ``fast_share`` of the last 50 votes, and ``flagged`` (median below -3, or over 20 % of the last
    50 below -3 and below FLOOR).
    """
    worker, pace = np.asarray(worker), np.asarray(pace, dtype=float)
    z = robust_z(pace, kind)
    fast = (z < SLOW_Z) & (pace < FLOOR)
    median, share = np.full(workers, np.nan), np.zeros(workers)
    for code in np.unique(worker):
        rows = worker == code
        defined = z[rows][np.isfinite(z[rows])]
        if defined.size:
            median[code] = np.median(defined)
        share[code] = fast[rows][-LAST_VOTES:].mean()
    flagged = (median < SLOW_Z) | (share > FAST_SHARE)
    return {"median_z": median, "fast_share": share, "flagged": flagged}


def same_vector_flags(worker: ArrayLike, ratings: ArrayLike, workers: int) -> dict[str, np.ndarray]:
    """Annotators who give one and the same vector of ratings nearly always.

    ``ratings`` is (answers, criteria). Returns arrays (workers,): ``answers``, ``share`` of the
    commonest vector and ``flagged`` (0.9 or more of 20 answers or more).
    """
    worker = np.asarray(worker)
    _, vector = np.unique(np.asarray(ratings), axis=0, return_inverse=True)
    answers = np.bincount(worker, minlength=workers)
    share = np.zeros(workers)
    for code in np.flatnonzero(answers):
        share[code] = np.bincount(vector.ravel()[worker == code]).max() / answers[code]
    flagged = (answers >= LEAST_VECTORS) & (share >= SAME_VECTORS)
    return {"answers": answers, "share": share, "flagged": flagged}


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
