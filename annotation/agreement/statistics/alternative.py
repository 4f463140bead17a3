"""Whether a model may stand for a person: the alternative annotator test (Calderon et al. 2025)."""

from dataclasses import dataclass

import numpy as np
import scipy

# What a person costs more than a model (epsilon), by who the people are, and the level of the
# discoveries: the paper's.
CROWD, SKILLED, EXPERT = 0.1, 0.15, 0.2
LEVEL = 0.05
LEAST_RATERS, LEAST_ITEMS = 3, 30
TOO_FEW = "the test needs three people with thirty items each that others judged too"


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
    epsilon: float = CROWD,
    numbers: bool = False,
) -> Alternative:
    """Test a model's ``predicted`` value of each item (NaN: none) against votes, a row each.

    A person j is left out in turn. On each item that others judged too, W^f is 1 where the model
    is at least as close to the others as j, W^h where j is at least as close as the model:
    closeness is the share of equal labels, or of ``numbers`` minus the root mean square
    difference. With d = W^h − W^f the hypothesis that mean(d) ≥ epsilon is rejected by a one-sided
    t test; the people's p-values go through Benjamini and Yekutieli's procedure at 0.05. People
    with fewer than 30 such items are left out.
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
        tested.append(who)
        p_values.append(_t_test(difference, epsilon))
        advantages.append(near.mean())
    if len(tested) < LEAST_RATERS:
        return _nothing()
    p = np.array(p_values)
    replaced = benjamini_yekutieli(p)
    advantage = float(np.mean(advantages))
    return Alternative(float(replaced.mean()), advantage, np.array(tested), p, replaced)


def _nothing() -> Alternative:
    nothing = np.array([])
    return Alternative(None, None, nothing, nothing, nothing.astype(bool), TOO_FEW)


def _t_test(difference: np.ndarray, epsilon: float) -> float:
    """One-sided p-value of a mean of ``epsilon`` or more."""
    n, gap = len(difference), float(difference.mean()) - epsilon
    spread = float(difference.std(ddof=1))
    if not spread:
        return 0.0 if gap < 0 else 1.0
    return float(scipy.special.stdtr(n - 1, gap / (spread / np.sqrt(n))))


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
