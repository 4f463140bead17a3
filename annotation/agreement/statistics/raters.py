"""Single annotators: signs that one does not read, their errors, a model in a person's place.

Signs remove no vote. Dawid and Skene's (1979) model of annotators' errors, by
expectation-maximisation, is a diagnostic and an order among equals: the ground truth stays the
plurality. The alternative annotator test (Calderon et al. 2025) says whether a model may stand for
a person.
"""

import math
from dataclasses import dataclass

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
FEW_VOTES = 20
PSEUDO = 0.1
# What a person costs more than a model (epsilon), by who the people are, and the level of the
# discoveries: the paper's.
CROWD, SKILLED, EXPERT = 0.1, 0.15, 0.2
LEVEL = 0.05
LEAST_RATERS, LEAST_ITEMS = 3, 30
TOO_FEW = "the test needs three people with thirty items each that others judged too"


def agreement_with_others(
    item: np.ndarray, worker: np.ndarray, category: np.ndarray, shape: tuple[int, int, int]
) -> tuple[np.ndarray, np.ndarray, float | None]:
    """How often annotators agree with the majority of the *others*.

    One row a vote; ``shape`` is (items, workers, categories). Votes on items where the others are
    split evenly, or absent, carry no information and are left out. Returns the votes compared and
    those that agreed, (workers,), and the pool's rate, None where no vote could be compared. Who
    has LEAST_VOTES and a binomial lower tail at that rate under TAIL should be looked at.
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
    return votes, with_most, with_most.sum() / votes.sum() if votes.sum() else None


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


def speeds(
    worker: ArrayLike, pace: ArrayLike, kind: ArrayLike, workers: int
) -> tuple[np.ndarray, np.ndarray]:
    """How far annotators' times, and their recent ones, are below everybody's.

    Rows are votes in order of submission, ``pace`` (votes,) their seconds a thousand characters
    shown; below FLOOR the text cannot have been read. Returns the median z (NaN: none) and the
    share of the last 50 votes below -3 and below FLOOR, (workers,). A median below SLOW_Z and a
    share above FAST_SHARE should be looked at.
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
    return median, share


def same_vectors(
    worker: ArrayLike, ratings: ArrayLike, workers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Who gives one and the same vector of ratings nearly always.

    ``ratings`` is (answers, criteria). Returns the share of the commonest vector and whether that
    is 0.9 or more of 20 answers or more, (workers,).
    """
    worker = np.asarray(worker)
    _, vector = np.unique(np.asarray(ratings), axis=0, return_inverse=True)
    answers = np.bincount(worker, minlength=workers)
    share = np.zeros(workers)
    for code in np.flatnonzero(answers):
        share[code] = np.bincount(vector.ravel()[worker == code]).max() / answers[code]
    return share, (answers >= LEAST_VECTORS) & (share >= SAME_VECTORS)


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


@dataclass(frozen=True)
class DawidSkene:
    """Posterior of each item's true category (items, K), the log-likelihood reached, and whether
    the run converged.
    """

    posterior: np.ndarray
    log_likelihood: float
    iterations: int
    converged: bool


def dawid_skene(
    item: np.ndarray,
    worker: ArrayLike,
    category: np.ndarray,
    shape: tuple[int, int, int],
    *,
    tolerance: float = 1e-9,
    most: int = 1000,
) -> DawidSkene:
    """Fit the model to one row a vote; ``shape`` is (items, workers, categories).

    Starts from the items' vote shares and stops when the log-likelihood a vote gains less than
    ``tolerance``. Annotators with fewer than 20 votes get 0.1 votes on the diagonal, which keeps
    single votes from being taken for perfect knowledge. Every item needs a vote.
    """
    items, workers, k = shape
    code = np.multiply(worker, k, dtype=np.int32) + category
    cells = np.ones(len(code)), (item, code)
    votes = scipy.sparse.coo_array(cells, shape=(items, workers * k)).tocsr()
    by_worker = votes.T
    of_category = np.multiply(item, k, dtype=np.int64) + category
    posterior = np.bincount(of_category, minlength=items * k).reshape(items, k).astype(float)
    posterior /= posterior.sum(axis=1, keepdims=True)
    few = np.bincount(worker, minlength=workers) < FEW_VOTES
    start = few[:, None, None] * (PSEUDO * np.eye(k))
    reached = -np.inf
    done, iteration = False, 0
    while not done and iteration < most:
        iteration += 1
        prior = posterior.mean(axis=0)
        confusion = (by_worker @ posterior).reshape(workers, k, k) + start
        total = confusion.sum(axis=1, keepdims=True)
        confusion = np.divide(confusion, total, out=np.full_like(confusion, 1 / k), where=total > 0)
        posterior, likelihood = _expect(votes, prior, confusion)
        done = likelihood - reached < tolerance * len(item)
        reached = likelihood
    return DawidSkene(posterior, float(reached), iteration, bool(done))


def _expect(
    votes: "scipy.sparse.csr_array", prior: np.ndarray, confusion: np.ndarray
) -> tuple[np.ndarray, float]:
    """Posteriors and log-likelihood; a probability of zero counts as the smallest float."""
    least = np.finfo(float).tiny
    workers, k, _ = confusion.shape
    log = votes @ np.log(np.maximum(confusion, least)).reshape(workers * k, k)
    log += np.log(np.maximum(prior, least))
    top = log.max(axis=1, keepdims=True)
    joint = np.exp(log - top)
    total = joint.sum(axis=1, keepdims=True)
    return joint / total, float(top.sum() + np.log(total).sum())


@dataclass(frozen=True)
class Alternative:
    """``share`` (omega) is the share of people whom the model may stand for; 0.5 is enough.

    ``advantage`` (rho) is how often, as a mean over people, the model is as close to the others as
    the person is. ``p_values`` and ``replaced`` are by person, in the order of ``raters``.
    """

    share: float | None
    advantage: float | None
    raters: np.ndarray
    p_values: np.ndarray
    replaced: np.ndarray
    reason: str | None = None

    @property
    def passed(self) -> bool | None:
        """The verdict; None where too few people judged too few items."""
        return None if self.share is None else self.share >= 0.5


def alternative_test(
    item: np.ndarray,
    rater: np.ndarray,
    value: np.ndarray,
    predicted: np.ndarray,
    *,
    chance: np.ndarray | None = None,
    epsilon: float = CROWD,
    numbers: bool = False,
) -> Alternative:
    """Test a model's ``predicted`` value of each item (NaN: none) against votes, a row each.

    A person j is left out in turn. On each item that others judged too, W^f is 1 where the model
    is at least as close to the others as j, W^h where j is at least as close as the model:
    closeness is the share of equal labels, or of ``numbers`` minus the root mean square
    difference. With d = W^h − W^f the hypothesis that mean(d) ≥ epsilon is rejected by a one-sided
    t test, items weighted by one over the ``chance`` with which each was drawn; the people's
    p-values go through Benjamini and Yekutieli's procedure at 0.05. People with fewer than 30 such
    items are left out.
    """
    known = ~np.isnan(predicted[item])
    item, rater, value = item[known], rater[known], value[known]
    if not len(value):
        return _nothing()
    # Items without a prediction have no votes left: any value of theirs is never looked at.
    predicted = np.where(np.isnan(predicted), value[0], predicted)
    # How often each value was given to each item; people are left out by subtracting their votes.
    values, code = np.unique(np.concatenate([value, predicted]), return_inverse=True)
    said, seen = code[: len(value)], code[len(value) :]
    counts = np.zeros((len(predicted), len(values)))
    np.add.at(counts, (item, said), 1)
    apart = (values[:, None] - values) ** 2 if numbers else 1.0 - np.eye(len(values))
    tested, p_values, advantages = [], [], []
    for who in np.unique(rater):
        mine = rater == who
        at, own = item[mine], said[mine]
        others = counts[at]
        others[np.arange(len(at)), own] -= 1
        judged = others.sum(axis=1) > 0
        if judged.sum() < LEAST_ITEMS:
            continue
        at, own, others = at[judged], own[judged], others[judged]
        # Mean (square) distances of the model and of the person from the others, least is closest.
        model, person = ((apart[each] * others).sum(axis=1) for each in (seen[at], own))
        near = (model <= person + 1e-9).astype(float)
        difference = (person <= model + 1e-9) - near
        weight = np.ones(len(at)) if chance is None else 1 / chance[at]
        tested.append(who)
        p_values.append(_t_test(difference, weight, epsilon))
        advantages.append(np.average(near, weights=weight))
    if len(tested) < LEAST_RATERS:
        return _nothing()
    p = np.array(p_values)
    replaced = benjamini_yekutieli(p)
    advantage = float(np.mean(advantages))
    return Alternative(float(replaced.mean()), advantage, np.array(tested), p, replaced)


def _nothing() -> Alternative:
    nothing = np.array([])
    return Alternative(None, None, nothing, nothing, nothing.astype(bool), TOO_FEW)


def _t_test(difference: np.ndarray, weight: np.ndarray, epsilon: float) -> float:
    """One-sided p-value of a weighted mean of ``epsilon`` or more."""
    n, share = len(difference), weight / weight.sum()
    mean = float(share @ difference)
    error = np.sqrt(n / (n - 1) * ((share * (difference - mean)) ** 2).sum())
    if not error:
        return 0.0 if mean < epsilon else 1.0
    return float(scipy.special.stdtr(n - 1, (mean - epsilon) / error))


def benjamini_yekutieli(p_values: np.ndarray) -> np.ndarray:
    """Which hypotheses are rejected at a false discovery rate of LEVEL under any dependence.

    Benjamini and Yekutieli (2001): the k smallest, k the largest with p(k) ≤ k LEVEL / (m Σ 1/j).
    """
    m = len(p_values)
    order = np.argsort(p_values, kind="stable")
    steps = np.arange(1, m + 1) * LEVEL / (m * (1 / np.arange(1, m + 1)).sum())
    below = np.flatnonzero(p_values[order] <= steps)
    rejected = np.zeros(m, dtype=bool)
    rejected[order[: below[-1] + 1 if len(below) else 0]] = True
    return rejected
