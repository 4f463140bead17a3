"""Signs that an annotator does not read. A flag asks a person to look; it removes no vote."""

from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

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
