"""Dawid and Skene's (1979) model of annotators' errors, by expectation-maximisation.

A diagnostic, and an order among equals: the ground truth stays the plurality.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

FEW_VOTES = 20
PSEUDO = 0.1


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
    votes = _matrix(item, np.multiply(worker, k, dtype=np.int32) + category, (items, workers * k))
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


def _matrix(
    item: np.ndarray, column: np.ndarray, shape: tuple[int, int]
) -> "scipy.sparse.csr_array":
    """How often each ``item`` (row) has each ``column``, in 12 bytes a vote.

    SciPy makes the same of coordinates, in several times as much memory.
    """
    if np.any(item[1:] < item[:-1]):
        order = np.argsort(item, kind="stable")
        item, column = item[order], column[order]
    starts = np.searchsorted(item, np.arange(shape[0] + 1)).astype(np.int32)
    votes = scipy.sparse.csr_array((np.ones(len(item)), column.astype(np.int32), starts), shape)
    votes.sum_duplicates()
    return votes


def _expect(
    votes: "scipy.sparse.csr_array", prior: np.ndarray, confusion: np.ndarray
) -> tuple[np.ndarray, float]:
    """Posteriors and log-likelihood; a probability of zero counts as the smallest float."""
    least = np.finfo(float).tiny
    workers, k, _ = confusion.shape
    log = votes @ np.log(np.maximum(confusion, least)).reshape(workers * k, k)
    log += np.log(np.maximum(prior, least))
    # Column by column: NumPy's reductions over a short last axis cost more than the products.
    top = log[:, 0].copy()
    for column in range(1, k):
        np.maximum(top, log[:, column], out=top)
    log -= top[:, None]
    np.exp(log, out=log)
    total = log[:, 0].copy()
    for column in range(1, k):
        total += log[:, column]
    log /= total[:, None]
    return log, float(top.sum() + np.log(total).sum())
