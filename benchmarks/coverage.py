"""How often the intervals of people and a model hold the true mean.

Items have a level, raters one of their own, and a vote has noise. Exit 1 where of 2,000 intervals
at 95 % fewer than 93.5 % or more than 96.5 % hold it.
"""

import sys
from dataclasses import dataclass

import numpy as np

from annotation.agreement.statistics.prediction_powered import Votes, mean

REPETITIONS, LEAST, MOST = 2_000, 0.935, 0.965


@dataclass(frozen=True)
class Case:
    """``judged`` of ``items`` have ``panel`` votes; ``level`` is the spread of raters' levels."""

    model: str
    items: int = 300
    judged: int = 100
    raters: int = 20
    panel: int = 3
    level: float = 0.3
    yes_or_no: bool = False


CASES = {
    f"{model}, {name}": case
    for model in ("good", "useless", "adversarial")
    for name, case in {
        "scores": Case(model),
        "shares": Case(model, yes_or_no=True),
        "few items": Case(model, items=90, judged=30),
        "few raters": Case(model, raters=5, level=0.1),
    }.items()
}


def drawn(case: Case, rng: np.random.Generator) -> Votes:
    """Votes of which the true mean is 0, or ½ of yes or no."""
    level, own = rng.normal(0, 1, case.items), rng.normal(0, case.level, case.raters)
    noise = rng.normal(0, 1, case.items)
    seen = {"good": level + 0.4 * noise, "useless": noise, "adversarial": -level + 0.4 * noise}
    item = np.repeat(np.arange(case.judged), case.panel)
    panels = rng.permuted(np.tile(np.arange(case.raters), (case.judged, 1)), axis=1)
    rater = panels[:, : case.panel].ravel()
    value = level[item] + own[rater] + rng.normal(0, 1, len(item))
    predicted = seen[case.model]
    if case.yes_or_no:
        value, predicted = (value > 0).astype(float), 1 / (1 + np.exp(-2 * predicted))
    return Votes(item, rater, value, predicted)


def coverage(name: str, repetitions: int = REPETITIONS) -> tuple[float, float, float]:
    """Shares of intervals with the true mean, people's and both; mean ratio of their widths."""
    case, rng = CASES[name], np.random.default_rng(1)
    true = 0.5 if case.yes_or_no else 0.0
    people, both = np.array([
        [(each.low, each.high) for each in (estimate.people, estimate.combined)]
        for estimate in (mean(drawn(case, rng)) for _ in range(repetitions))
    ], dtype=float).transpose(1, 2, 0)  # fmt: skip
    held = [((low <= true) & (true <= high)).mean() for low, high in (people, both)]
    return (
        float(held[0]),
        float(held[1]),
        float(np.mean((both[1] - both[0]) / (people[1] - people[0]))),
    )


def main() -> int:
    wrong = 0
    for name in CASES:
        people, both, ratio = coverage(name)
        wrong += not LEAST <= min(people, both) <= max(people, both) <= MOST
        sys.stdout.write(f"{name}: people {people:.3f}, both {both:.3f}, width {ratio:.2f}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
