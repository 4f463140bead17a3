"""Bradley and Terry's (1952) strengths with intervals that know which votes share an item."""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .coefficient import (
    CONFIDENCE,
    Coefficient,
    undefined,
    with_normal_interval,
)

FARTHEST = 30.0


@dataclass(frozen=True)
class BradleyTerry:
    """Strengths (models,) on the logit scale with sum 0, their standard errors and limits.

    ``regularised``: the wins did not connect the models (no finite maximum, Ford 1957), so
    half a win and half a loss against a virtual opponent were added for each. ``order`` is the
    advantage of being shown first. ``reason`` is why there are no values, which are then None.
    """

    strength: np.ndarray | None
    se: np.ndarray | None
    low: np.ndarray | None
    high: np.ndarray | None
    regularised: bool
    order: Coefficient
    reason: str | None = None


def bradley_terry(
    first: np.ndarray,
    second: np.ndarray,
    score: ArrayLike,
    models: int,
    *,
    item: np.ndarray | None = None,
    order: bool = False,
) -> BradleyTerry:
    """Fit one row a vote: codes of the models shown ``first`` and ``second``, score 1, ½ or 0 for
    the first.

    ``item`` codes cluster the votes: the covariance is then the sandwich over items, without it
    Fisher's. ``order`` adds one term for the side shown first. Newton's method on the (models,
    models) tables of votes and wins.
    """
    cell = np.multiply(first, models, dtype=np.intp)
    cell += second
    shape = (models, models)
    votes = np.bincount(cell, minlength=models**2).reshape(shape).astype(float)
    wins = np.bincount(cell, weights=score, minlength=models**2).reshape(shape)
    if votes.trace():
        raise ValueError("a model cannot be compared with itself")
    regularised = not _connected(votes, wins)
    theta, delta, converged = _newton(votes, wins, regularised, order)
    none = undefined("order was not asked for")
    if not converged:
        reason = "no finite maximum: the side shown first explains the votes"
        return BradleyTerry(None, None, None, None, regularised, undefined(reason), reason)
    expected = scipy.special.expit(theta[:, None] - theta[None, :] + delta)
    inverse = np.linalg.inv(_information(votes, expected, theta, regularised, order))
    covariance = inverse
    if item is not None:
        residual = score - expected.ravel()[cell]
        scores = _cluster_scores(first, second, residual, item, models, order)
        covariance = inverse @ scores @ inverse
    centred = theta - theta.mean()
    centre = np.eye(len(covariance))
    centre[:models, :models] -= 1 / models
    se = np.sqrt(np.maximum(np.diag(centre @ covariance @ centre.T), 0))
    reach = float(scipy.special.ndtri((1 + CONFIDENCE) / 2)) * se[:models]
    return BradleyTerry(
        centred, se[:models], centred - reach, centred + reach, regularised,
        with_normal_interval(delta, se[-1]) if order else none,
    )  # fmt: skip


@dataclass(frozen=True)
class Powered:
    """Strengths of people alone and of people and predictions, with lambda (0: people alone)."""

    people: BradleyTerry
    combined: BradleyTerry
    weight: float


def powered(
    first: np.ndarray, second: np.ndarray, score: np.ndarray, predicted: np.ndarray, models: int
) -> Powered:
    """Strengths from people's mean ``score`` of some items (NaN: none) and predictions of all.

    One row an item, a pair of models; scores and predictions are of the first, from 0 to 1. PPI++
    (Angelopoulos, Duchi and Zrnic 2023, section 4) for the score equations of Bradley and Terry,
    s_i(y) = (y − σ(θ_a − θ_b)) (e_a − e_b), over n items with votes and N without::

        Σ_n s_i(Y_i) / n + λ (Σ_N s_i(f_i) / N − Σ_n s_i(f_i) / n) = 0

    λ makes the sum of the strengths' variances least, from 0 to 1; the covariance is the sandwich
    over items. Where that is no less than people's, or no maximum is finite, λ is 0.
    """
    judged = ~np.isnan(score)
    whole = _powered(first, second, score, predicted, judged, models, 0.0)
    n, rest = int(judged.sum()), int((~judged).sum())
    if whole.strength is None or whole.se is None or whole.regularised or not rest or n < 3:
        return Powered(whole, whole, 0.0)
    expected = scipy.special.expit(whole.strength[first] - whole.strength[second])
    # The sum over strengths of squared influences of item i, up to its residual.
    inverse = np.linalg.pinv(_laplacian(first, second, judged * expected * (1 - expected), models))
    size = ((inverse[first] - inverse[second]) ** 2).sum(axis=1)
    said, seen = (score - expected)[judged], (predicted - expected)
    same = (size[judged] * (said - said.mean()) * (seen[judged] - seen[judged].mean())).mean()
    spread = (size * (seen - seen.mean()) ** 2).mean()
    weight = float(np.clip(same / ((1 + n / rest) * spread), 0, 1)) if spread else 0.0
    both = _powered(first, second, score, predicted, judged, models, weight)
    if both.se is None or both.regularised or (both.se**2).sum() >= (whole.se**2).sum():
        return Powered(whole, whole, 0.0)
    return Powered(whole, both, weight)


def _powered(
    first: np.ndarray,
    second: np.ndarray,
    score: np.ndarray,
    predicted: np.ndarray,
    judged: np.ndarray,
    models: int,
    weight: float,
) -> BradleyTerry:
    """The strengths at one lambda."""
    n, rest = int(judged.sum()), max(int((~judged).sum()), 1)
    score = np.where(judged, score, 0.0)
    # As many votes as items were judged: Newton's steps are measured on that scale.
    share = np.where(judged, 1 - weight, weight * n / rest)
    target = np.where(judged, score - weight * predicted, weight * n / rest * predicted)
    cell = first.astype(np.intp) * models + second
    shape = (models, models)
    votes = np.bincount(cell, weights=share, minlength=models**2).reshape(shape)
    wins = np.bincount(cell, weights=target, minlength=models**2).reshape(shape)
    regularised = not _connected(votes, wins)
    theta, _delta, converged = _newton(votes, wins, regularised, False)
    if not converged:
        reason, order = "no finite maximum of the strengths", undefined("order was not asked for")
        return BradleyTerry(None, None, None, None, regularised, order, reason)
    theta = theta - theta.mean()
    expected = scipy.special.expit(theta[first] - theta[second])
    table = scipy.special.expit(theta[:, None] - theta[None, :])
    inverse = np.linalg.inv(_information(votes, table, theta, regularised, False))
    residual = target - share * expected
    covariance = np.zeros(shape)
    for part in (judged, ~judged):
        if weight or part is judged:
            scores = np.zeros((int(part.sum()), models))
            row = np.arange(len(scores))
            scores[row, first[part]] = residual[part]
            scores[row, second[part]] = -residual[part]
            scores -= scores.mean(axis=0)
            covariance += scores.T @ scores * len(scores) / max(len(scores) - 1, 1)
    centre = np.eye(models) - 1 / models
    covariance = centre @ inverse @ covariance @ inverse @ centre
    se = np.sqrt(np.maximum(np.diag(covariance), 0))
    reach = float(scipy.special.ndtri((1 + CONFIDENCE) / 2)) * se
    none = undefined("order was not asked for")
    return BradleyTerry(theta, se, theta - reach, theta + reach, regularised, none)


def _laplacian(
    first: np.ndarray, second: np.ndarray, weight: np.ndarray, models: int
) -> np.ndarray:
    """Σ w (e_a − e_b)(e_a − e_b)ᵀ over pairs."""
    table = np.zeros((models, models))
    np.add.at(table, (first, second), weight)
    table += table.T
    return np.diag(table.sum(axis=1)) - table


def _connected(votes: np.ndarray, wins: np.ndarray) -> bool:
    """True where every model has beaten every other, itself or through others."""
    beats = (wins + (votes - wins).T) > 0
    return _reaches_all(beats) and _reaches_all(beats.T)


def _reaches_all(beats: np.ndarray) -> bool:
    reached = np.arange(len(beats)) == 0
    while True:
        further = reached | beats[reached].any(axis=0)
        if np.array_equal(further, reached):
            return bool(reached.all())
        reached = further


def _newton(
    votes: np.ndarray, wins: np.ndarray, regularised: bool, order: bool
) -> tuple[np.ndarray, float, bool]:
    """Maximum of the likelihood: strengths, order effect, and whether it was reached."""
    models = len(votes)
    if models < 2:
        return np.zeros(models), 0.0, True
    at = np.zeros(models + order)
    expected, height = _likelihood(votes, wins, at, regularised)
    for _ in range(100):
        theta = at[:models]
        residual = wins - votes * expected
        gradient = residual.sum(axis=1) - residual.sum(axis=0)
        if regularised:
            gradient += 0.5 - scipy.special.expit(theta)
        gradient = np.append(gradient, residual.sum()) if order else gradient
        try:
            step = np.linalg.solve(
                _information(votes, expected, theta, regularised, order), gradient
            )
        except np.linalg.LinAlgError:
            return theta, 0.0, False
        expected, reached = _likelihood(votes, wins, at + step, regularised)
        while reached < height - 1e-9 * abs(height) and np.abs(step).max() > 1e-12:
            step /= 2
            expected, reached = _likelihood(votes, wins, at + step, regularised)
        at, height = at + step, reached
        if np.abs(at).max() > FARTHEST:
            return theta, 0.0, False
        if np.abs(step).max() < 1e-9:
            break
    return at[:models], float(at[models:].sum()), True


def _likelihood(
    votes: np.ndarray, wins: np.ndarray, at: np.ndarray, regularised: bool
) -> tuple[np.ndarray, float]:
    """Chances that the first wins, and the log-likelihood; a chance of 0 counts as the smallest."""
    models = len(votes)
    theta = at[:models]
    logit = theta[:, None] - theta[None, :] + at[models:].sum()
    expected = scipy.special.expit(logit)
    # log σ(x) is x + log σ(-x): one logarithm does for wins and losses.
    total = (wins * logit).sum() + (votes * np.log(np.maximum(1 - expected, 1e-300))).sum()
    if regularised:
        total += 0.5 * np.log(scipy.special.expit(theta) * scipy.special.expit(-theta)).sum()
    return expected, total


def _information(
    votes: np.ndarray, expected: np.ndarray, theta: np.ndarray, regularised: bool, order: bool
) -> np.ndarray:
    """Fisher information of strengths (a graph Laplacian) and, last, of the order effect.

    Without virtual opponents strengths are determined up to a constant; 1/models in every cell
    of the Laplacian fixes it and changes nothing else.
    """
    models = len(votes)
    weight = votes * expected * (1 - expected)
    out, into = weight.sum(axis=1), weight.sum(axis=0)
    information = np.empty((models + order, models + order))
    information[:models, :models] = np.diag(out + into) - weight - weight.T
    if regularised:
        variance = scipy.special.expit(theta) * scipy.special.expit(-theta)
        information[np.arange(models), np.arange(models)] += variance
    else:
        information[:models, :models] += 1 / models
    if order:
        information[models, :models] = information[:models, models] = out - into
        information[models, models] = weight.sum()
    return information


def _cluster_scores(
    first: np.ndarray,
    second: np.ndarray,
    residual: np.ndarray,
    item: np.ndarray,
    models: int,
    order: bool,
) -> np.ndarray:
    """Sum over items of the outer products of their score vectors."""
    rows, columns, values = [item, item], [first, second], [residual, -residual]
    if order:
        rows.append(item)
        columns.append(np.full(len(item), models))
        values.append(residual)
    scores = scipy.sparse.coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(int(np.max(item)) + 1, models + order),
    ).tocsr()
    return (scores.T @ scores).toarray()
