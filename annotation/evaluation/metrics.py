"""Accuracy of a model on pairs, and what of it can be told from chance. Pure.

A pair's score is 1 where the model chose as people did, 0 where it did not or named no answer,
in between where both orders were asked and differ, or two scores are equal. All accuracies are in
per cent; by chance they are 50.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from annotation.agreement.statistics.bootstrap import over_groups, resampled_weights
from annotation.agreement.statistics.coefficient import CONFIDENCE, wilson

RESAMPLES = 1000
RIDGE = 1e-3
# Log lengths of a pair that is near equal length: one is longer by a tenth at most. With fewer such
# pairs the value at equal length is a guess from the others.
NEAR = float(np.log(1.1))
NEAR_LEAST = 10
FAR = f"it cannot be told: fewer than {NEAR_LEAST} pairs have answers of nearly equal length"


@dataclass(frozen=True)
class Accuracy:
    """Per cent of ``n`` pairs, or a difference of such in points, with its 95 % interval; ``value``
    is None where n is 0, or for the ``reason``.
    """

    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""

    def as_json(self) -> dict:
        figures = {"n": self.n, "value": self.value, "low": self.low, "high": self.high}
        return figures | ({"reason": self.reason} if self.reason else {})


def of_scores(chosen: np.ndarray, reject: np.ndarray) -> np.ndarray:
    """Scores (pairs,) of answers' scores: 1 where the chosen has more, half where both are equal.

    NaN, no score, is not right.
    """
    return np.where(chosen > reject, 1.0, np.where(chosen == reject, 0.5, 0.0))


def accuracy(score: np.ndarray, item: np.ndarray, stratum: np.ndarray | None = None) -> Accuracy:
    """Mean of ``score`` (pairs,) with a t-interval that takes pairs of one ``item`` together.

    ``item`` and ``stratum`` are whole-number codes. Strata are tiers, whose sizes are fixed: only
    what varies inside of them widens the interval. Where nothing varies it is Wilson's, on items.
    """
    n = len(score)
    if not n:
        return Accuracy(0)
    value = float(score.mean())
    stratum = np.zeros(n, int) if stratum is None else stratum
    means = np.bincount(stratum, score) / np.maximum(np.bincount(stratum), 1)
    _, code = np.unique(item, return_inverse=True)
    sums = np.bincount(code, score - means[stratum])
    clusters = len(sums)
    if not np.any(np.abs(sums) > 1e-12) or clusters < 2:
        whole = wilson(value * clusters, clusters)
        return Accuracy(n, 100 * value, 100 * (whole.low or 0.0), 100 * (whole.high or 0.0))
    se = np.sqrt((sums**2).sum() * clusters / (clusters - 1)) / n
    reach = float(scipy.special.stdtrit(clusters - 1, (1 + CONFIDENCE) / 2)) * se
    low, high = max(0.0, value - reach), min(1.0, value + reach)
    return Accuracy(n, 100 * value, 100 * low, 100 * high)


def over_people(values: np.ndarray, person: list[str]) -> list[Accuracy]:
    """Means of the columns of ``values`` (rows, columns), and last the mean of these means.

    NaN is no value. Intervals resample people (``person`` of each row); one alone has none.
    """
    code = np.unique(person, return_inverse=True)[1]
    there = np.isfinite(values)
    known = np.where(there, values, 0.0)

    def means(weights: np.ndarray) -> np.ndarray:
        return (weights @ known) / (weights @ there)

    several = int(code.max()) > 0
    columns = [lambda weights, column=column: means(weights)[column]
               for column in range(values.shape[1])]  # fmt: skip
    counts = [*there.sum(axis=0).tolist(), int(there.all(axis=1).sum())]
    cells = []
    for n, compute in zip(counts, [*columns, lambda weights: means(weights).mean()], strict=True):
        value, low, high = over_groups(compute, code, RESAMPLES if several else 1)
        cells.append(Accuracy(n, value, low, high) if several else Accuracy(n, value))
    return cells


def mean_over_people(values: Sequence[tuple[str, float]], times: float = 1) -> Accuracy:
    """The mean of (person, value), ``times`` over; nothing of no values."""
    if not values:
        return Accuracy(0)
    people, numbers = zip(*values, strict=True)
    return over_people(times * np.array(numbers, dtype=float)[:, None], list(people))[0]


def controlled(score: np.ndarray, difference: np.ndarray, item: np.ndarray) -> Accuracy:
    """Accuracy between answers of equal length, by logistic regression.

    ``difference`` (pairs,) is the log length of the chosen answer less that of the other. The model
    is P(right) = 1 / (1 + exp(-(a + b tanh(d / sd)))), as length-controlled AlpacaEval (Dubois et
    al. 2024) has it; the value is at d = 0. Interval: sandwich over items, on the logit. Without
    NEAR_LEAST pairs near d = 0 there is no value, but a reason.
    """
    n = len(score)
    if n and (np.abs(difference) <= NEAR).sum() < NEAR_LEAST:
        return Accuracy(n, reason=FAR)
    if n < 2 or not np.ptp(difference) or not np.ptp(score):
        return accuracy(score, item)
    x = np.column_stack([np.ones(n), np.tanh(difference / difference.std())])
    # Half a success and a failure: a model that is always right has a finite logit, too.
    y = (score * n + 0.5) / (n + 1)
    beta = np.zeros(2)
    for _ in range(50):
        p = scipy.special.expit(x @ beta)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(2)
        step = np.linalg.solve(hessian, x.T @ (y - p) - RIDGE * beta)
        beta += np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-10:
            break
    _, code = np.unique(item, return_inverse=True)
    residual = (y - scipy.special.expit(x @ beta))[:, None] * x
    sums = np.column_stack([np.bincount(code, residual[:, k]) for k in (0, 1)])
    bread = np.linalg.inv(hessian)
    reach = float(scipy.special.ndtri((1 + CONFIDENCE) / 2)) * np.sqrt(
        (bread @ (sums.T @ sums) @ bread)[0, 0]
    )
    low, value, high = (
        float(100 * scipy.special.expit(beta[0] + side * reach)) for side in (-1, 0, 1)
    )
    return Accuracy(n, value, low, high)


def consistency(first: np.ndarray, second: np.ndarray) -> float | None:
    """Per cent of pairs in which a model named the same answer in both orders.

    Both are (pairs,): 1 the chosen answer, 0 the other, -1 none. Only pairs with two verdicts
    count; None where there is none.
    """
    both = (first >= 0) & (second >= 0)
    return float(100 * (first[both] == second[both]).mean()) if both.any() else None


def differences(scores: np.ndarray, item: np.ndarray) -> list[list[Accuracy]]:
    """How much more accurate each row of ``scores`` (rows, pairs) is than each other, in points, on
    the pairs that both have; NaN where not asked.

    Percentile intervals from RESAMPLES bootstrap samples of items; each draws the same items for
    all rows.
    """
    rows = len(scores)
    _, code = np.unique(item, return_inverse=True)
    size = int(code.max()) + 1 if len(code) else 0
    there = ~np.isnan(scores)
    table = [[Accuracy(0)] * rows for _ in range(rows)]
    if not size:
        return table
    couples = [(a, b) for a in range(rows) for b in range(a)]
    sums, counts = np.zeros((size, len(couples))), np.zeros((size, len(couples)))
    for place, (a, b) in enumerate(couples):
        both = there[a] & there[b]
        apart = scores[a][both] - scores[b][both]
        sums[:, place] = np.bincount(code[both], apart, minlength=size)
        counts[:, place] = np.bincount(code[both], minlength=size)
    draws = _ratios(sums, counts)
    for place, (a, b) in enumerate(couples):
        n = int(counts[:, place].sum())
        if n:
            value = 100 * sums[:, place].sum() / n
            low, high = 100 * np.nanquantile(draws[:, place], [0.025, 0.975])
            table[a][b] = Accuracy(n, float(value), float(low), float(high))
            table[b][a] = Accuracy(n, float(-value), float(-high), float(-low))
    return table


def ranks(table: list[list[Accuracy]]) -> list[int]:
    """A rank for each row: 1 plus the rows that are better beyond chance; equal ranks are ties."""
    return [1 + sum(other.high is not None and other.high < 0 for other in row) for row in table]


def _ratios(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    blocks = []
    for weights in resampled_weights(np.ones(len(sums), int), RESAMPLES):
        below = weights @ counts
        blank = np.full(below.shape, np.nan)
        blocks.append(np.divide(weights @ sums, below, out=blank, where=below > 0))
    return np.concatenate(blocks)
