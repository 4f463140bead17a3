"""Bradley and Terry's (1952) strengths with intervals that know which votes share an item."""

from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .coefficient import (
    CONFIDENCE,
    Coefficient,
    undefined,
    with_normal_interval,
)
from .prediction_powered import (
    Sample,
    Votes,
    filled,
    influences,
    interval,
    least_variance,
    of_raters,
)

FARTHEST = 30.0
REGULARISED = (
    "Regularised: the votes do not connect all of them, so each got half a win and half "
    "a loss against an opponent of strength 0."
)
# No strength's interval of people and predictions is wider than people's by more than this.
WIDER = 1.02


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
    """Each model's strength by people alone, and by people and predictions; ``weight`` is lambda
    (0: people alone).
    """

    people: list[Coefficient]
    combined: list[Coefficient]
    weight: float


def powered(first: np.ndarray, second: np.ndarray, votes: Votes, models: int) -> Powered:
    """Strengths from people's votes on some items and predictions of all, each item a pair.

    ``first`` and ``second`` are (items,) codes of the models that an item shows; votes and
    predictions are the first's score, from 0 to 1. PPI++ (Angelopoulos, Duchi and Zrnic 2023,
    section 4) for Bradley and Terry's score equations, s_i(y) = (y − σ(θ_a − θ_b)) (e_a − e_b),
    weighted and with b as in ``prediction_powered.mean``::

        Σ ω_i s_i(Y_i) + b (Σ_M s_i(f_i) / M − Σ ω_i s_i(f_i)) = 0

    One b makes the sum of the strengths' variances between items least. What raters' own levels
    add is computed from the linearised votes of each strength. Where that sum is no less than
    people's, one interval would be wider than theirs by more than WIDER, or no maximum is finite, b
    is 0.
    """
    sample, predicted = Sample.of(votes), filled(votes.predicted)
    n, number = len(sample.items), len(first)
    pairs = first, second, models
    whole = _fitted(pairs, sample, predicted, 0.0) if n > 1 else None
    if whole is None:
        nothing = [undefined("no finite maximum of the strengths")] * models
        return Powered(nothing, nothing, 0.0)
    linear = whole.direction[votes.item] * (votes.value - whole.expected[votes.item])[:, None]
    raters = [of_raters(sample, votes.rater, column, 0.0) for column in linear.T]
    variance = n / (n - 1) * (whole.alone**2).sum(axis=0)
    people = _strengths(whole, variance, raters, n)
    alone = Powered(people, people, 0.0)
    largest = float(sample.weights.max())
    most = largest / max(largest - 1 / number, 1e-12)
    slope = least_variance(whole.alone, whole.difference, most)
    both = None if whole.regularised or n < 3 else _fitted(pairs, sample, predicted, slope)
    if not slope or both is None or both.regularised:
        return alone
    items = n / (n - 2) * ((both.alone - slope * both.difference) ** 2).sum(axis=0)
    if items.sum() >= variance.sum() or (items > WIDER**2 * variance).any():
        return alone
    return Powered(people, _strengths(both, items, raters, n), slope * (1 - n / number))


@dataclass(frozen=True)
class _Fit:
    """Strengths; chances (items,) that the first wins; ``direction`` (items, models), how a vote
    for the first moves each strength; influences of items as in ``prediction_powered``.
    """

    strength: np.ndarray
    expected: np.ndarray
    direction: np.ndarray
    alone: np.ndarray
    difference: np.ndarray
    regularised: bool


def _fitted(
    pairs: tuple[np.ndarray, np.ndarray, int], sample: Sample, predicted: np.ndarray, slope: float
) -> _Fit | None:
    """The strengths at one b; None where no maximum is finite."""
    first, second, models = pairs
    n, number = len(sample.items), len(first)
    # As many votes as items were judged: Newton's steps are measured on that scale.
    people, means = np.zeros(number), np.zeros(number)
    people[sample.items] = n * sample.weights
    means[sample.items] = sample.means
    model = slope * (n / number - people)
    cell, shape = first.astype(np.intp) * models + second, (models, models)
    votes = np.bincount(cell, weights=people + model, minlength=models**2).reshape(shape)
    score = people * means + model * predicted
    wins = np.bincount(cell, weights=score, minlength=models**2).reshape(shape)
    regularised = not _connected(votes, wins)
    theta, _delta, converged = _newton(votes, wins, regularised, False)
    if not converged:
        return None
    table = scipy.special.expit(theta[:, None] - theta[None, :])
    inverse = np.linalg.inv(_information(votes, table, theta, regularised, False))
    direction = n * (inverse[first] - inverse[second])
    direction -= direction.mean(axis=1, keepdims=True)
    expected = table[first, second]
    alone, difference = influences(
        sample,
        direction[sample.items] * (sample.means - expected[sample.items])[:, None],
        direction * (predicted - expected)[:, None],
    )
    return _Fit(theta - theta.mean(), expected, direction, alone, difference, regularised)


def _strengths(
    fit: _Fit, variance: np.ndarray, raters: list[tuple[float, int]], n: int
) -> list[Coefficient]:
    rows = zip(fit.strength.tolist(), variance.tolist(), raters, strict=True)
    reason = REGULARISED if fit.regularised else None
    strengths = [interval(value, items, common, n, people)
                 for value, items, (common, people) in rows]  # fmt: skip
    return [replace(each, reason=each.reason or reason) for each in strengths]


def _connected(votes: np.ndarray, wins: np.ndarray) -> bool:
    """True where every model has beaten every other, itself or through others."""
    beats = (wins + (votes - wins).T) > 0
    # Only here: it takes a tenth of a second to import.
    from scipy.sparse.csgraph import connected_components

    return connected_components(beats, connection="strong", return_labels=False) == 1


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
