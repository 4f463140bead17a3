"""How often the intervals of people and a model hold the true value.

Items have a level, raters one of their own, and a vote has noise. Exit 1 where of 2,000 intervals
at 95 % fewer than 93.5 % or more than 96.5 % hold it.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from annotation.agreement.statistics.bradley_terry import bradley_terry, powered
from annotation.agreement.statistics.coefficient import Coefficient
from annotation.agreement.statistics.prediction_powered import Votes, mean, probabilities

REPETITIONS, LEAST, MOST = 2_000, 0.935, 0.965
STRENGTHS = np.array([1, 0.3, -0.2, -1.1])


@dataclass(frozen=True)
class Case:
    """``judged`` of ``items`` have ``panel`` votes; ``level`` is the spread of raters' levels.

    ``weighted``: items are drawn, those far from the middle more often.
    """

    model: str
    items: int = 300
    judged: int = 100
    raters: int = 20
    panel: int = 3
    level: float = 0.3
    values: str = "scores"
    weighted: bool = False


CASES = {
    f"{model}, {name}": case
    for model in ("good", "useless", "adversarial")
    for name, case in {
        "scores": Case(model),
        "shares": Case(model, values="shares"),
        "drawn": Case(model, values="shares", weighted=True),
        "few items": Case(model, items=90, judged=30),
        "few raters": Case(model, raters=5, level=0.1),
        "three raters": Case(model, raters=3),
        "one vote": Case(model, panel=1),
        "strengths": Case(model, values="strengths"),
        "strengths, drawn": Case(model, values="strengths", weighted=True),
    }.items()
}


def estimates(case: Case, rng: np.random.Generator) -> Iterator[tuple[Coefficient, Coefficient]]:
    """Of people, and of people and model, less the true value."""
    level, noise = rng.normal(0, 1, case.items), rng.normal(0, 1, case.items)
    forecasts = {"good": level + 0.4 * noise, "useless": noise, "adversarial": -level + 0.4 * noise}
    forecast = forecasts[case.model]
    chosen, chance = np.arange(case.judged), None
    if case.weighted:
        chance = probabilities(0.3 + np.abs(level), case.judged)
        chosen = np.flatnonzero(rng.random(case.items) < chance)
    item = np.repeat(np.arange(len(chosen)), case.panel)
    panels = rng.permuted(np.tile(np.arange(case.raters), (len(chosen), 1)), axis=1)
    rater, item = panels[:, : case.panel].ravel(), chosen[item]
    if case.values == "strengths":
        first = rng.integers(0, 4, case.items)
        pairs = first, (first + rng.integers(1, 4, case.items)) % 4
        taste = rng.normal(0, case.level, (4, case.raters))
        better = STRENGTHS[pairs[0]] - STRENGTHS[pairs[1]]
        liked = taste[pairs[0][item], rater] - taste[pairs[1][item], rater]
        won = (better + level)[item] + liked + rng.logistic(0, 1, len(item)) > 0
        sign = {"good": 1, "useless": 0, "adversarial": -1}[case.model]
        predicted = scipy.special.expit(sign * better + forecast)
        fit = powered(*pairs, Votes(item, rater, won.astype(float), predicted, chance), 4)
        for people, both, true in zip(fit.people, fit.combined, _true(case.level), strict=True):
            yield _less(people, true), _less(both, true)
        return
    leniency = rng.normal(0, case.level, case.raters)
    value, predicted = level[item] + leniency[rater] + rng.normal(0, 1, len(item)), forecast
    if case.values == "shares":
        value, predicted = (value > 0).astype(float) - 0.5, 1 / (1 + np.exp(-2 * predicted))
    estimate = mean(Votes(item, rater, value, predicted, chance))
    yield estimate.people, estimate.combined


def _true(level: float) -> np.ndarray:
    """The strengths of all items and raters there could be."""
    points, weight = np.polynomial.hermite_e.hermegauss(60)
    first, second = (~np.eye(4, dtype=bool)).nonzero()
    better = STRENGTHS[first] - STRENGTHS[second]
    shares = scipy.special.expit(better[:, None] + np.sqrt(1 + 2 * level**2) * points) @ weight
    fitted = bradley_terry(first, second, shares / weight.sum(), 4).strength
    assert fitted is not None
    return fitted


def _less(strength: Coefficient, true: float) -> Coefficient:
    if strength.value is None or strength.low is None or strength.high is None:
        return strength
    value, low, high = (each - true for each in (strength.value, strength.low, strength.high))
    return Coefficient(value, strength.se, low, high)


def coverage(name: str, repetitions: int = REPETITIONS) -> tuple[float, float, float]:
    """Shares of intervals with the true value, people's and both; mean ratio of their widths."""
    case, rng = CASES[name], np.random.default_rng(1)
    people, both = np.array([
        [(each.low, each.high) for each in pair]
        for _repetition in range(repetitions) for pair in estimates(case, rng)
    ], dtype=float).transpose(1, 2, 0)  # fmt: skip
    shares = [((low <= 0) & (high >= 0)).mean() for low, high in (people, both)]
    ratio = np.nanmean((both[1] - both[0]) / (people[1] - people[0]))
    return float(shares[0]), float(shares[1]), float(ratio)


def main() -> int:
    wrong = 0
    for name in CASES:
        people, both, ratio = coverage(name)
        wrong += not LEAST <= min(people, both) <= max(people, both) <= MOST
        sys.stdout.write(f"{name}: people {people:.3f}, both {both:.3f}, width {ratio:.2f}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
