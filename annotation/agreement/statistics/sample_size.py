"""How many items, votes and hours an interval of a wanted width takes."""

import math
from itertools import combinations

import numpy as np
import scipy

from .coefficient import CONFIDENCE
from .kappas import Patterns, item_agreement


def kappa_spread(patterns: Patterns) -> float | None:
    """Standard deviation of items' own symmetric kappas in pilot votes; None under two items."""
    pairs, k = patterns.paired, patterns.categories
    if pairs.items < 2 or k < 2:
        return None
    item_kappa = (k * item_agreement(patterns) - 1) / (k - 1)
    mean = pairs.weight @ item_kappa / pairs.items
    return float(np.sqrt(pairs.weight @ (item_kappa - mean) ** 2 / (pairs.items - 1)))


def assumed_kappa_spread(kappa: float, votes: int, options: int) -> float:
    """The same standard deviation where the pool's kappa is assumed, 0 < κ < 1.

    Items' preferences are Dirichlet(a, …, a) with a = (1/κ - 1)/K; every split of the votes has its
    Dirichlet-multinomial probability.
    """
    if not 0 < kappa < 1:
        raise ValueError("an assumed kappa lies between 0 and 1")
    if votes < 2 or options < 2:
        raise ValueError("two votes and two options are needed")
    a = (1 / kappa - 1) / options
    # Every split of the votes: bars between them part the answers.
    bars = list(combinations(range(votes + options - 1), options - 1))
    ends = np.full((len(bars), 1), -1), np.full((len(bars), 1), votes + options - 1)
    counts = np.diff(np.hstack([ends[0], bars, ends[1]]), axis=1) - 1
    gammaln = scipy.special.gammaln
    log = gammaln(votes + 1) + gammaln(options * a) - gammaln(votes + options * a)
    log = log + (gammaln(counts + a) - gammaln(counts + 1) - gammaln(a)).sum(axis=1)
    probability = np.exp(log)
    agreement = (counts * (counts - 1)).sum(axis=1) / (votes * (votes - 1))
    item_kappa = (options * agreement - 1) / (options - 1)
    return float(np.sqrt(probability @ item_kappa**2 - (probability @ item_kappa) ** 2))


def items_for_kappa(half_width: float, spread: float) -> int:
    """Items for a 95 % interval of ± ``half_width`` on kappa, ``spread`` as above."""
    return _items(half_width, spread**2)


def items_for_win_rate(half_width: float, votes: int, kappa: float, rate: float = 0.5) -> int:
    """Items for ± ``half_width`` on a win rate from ``votes`` on every item.

    An item's share has the variance p(1-p)·(1 + (n-1)κ)/n: votes on one item repeat one another
    (Kish's design effect), so more votes do not replace items.
    """
    if not 0 < rate < 1 or votes < 1 or not 0 <= kappa <= 1:
        raise ValueError("needs 0 < rate < 1, one vote an item and 0 ≤ kappa ≤ 1")
    return _items(half_width, rate * (1 - rate) * design_effect(votes, kappa) / votes)


def design_effect(votes: int, kappa: float) -> float:
    """How many votes on one item count as much as one on an item of its own: 1 + (n-1)κ."""
    return 1 + (votes - 1) * kappa


def _items(half_width: float, variance: float) -> int:
    if not half_width > 0:
        raise ValueError("the half-width must be above 0")
    z = float(scipy.special.ndtri((1 + CONFIDENCE) / 2))
    return max(2, math.ceil(z * z * variance / half_width**2))


def workload(
    items: int, votes: int, seconds: float, raters: int | None = None
) -> dict[str, float | None]:
    """What a plan costs: judgments, hours in all and, with ``raters``, hours for each.

    ``seconds`` is the time of one judgment. Raises ValueError for fewer raters than votes an item.
    """
    judgments = items * votes
    hours = judgments * seconds / 3600
    plan: dict[str, float | None] = {"items": items, "judgments": judgments, "hours": hours}
    if raters is None:
        return plan
    if raters < votes:
        raise ValueError(f"{votes} votes an item need {votes} raters or more")
    return {**plan, "hours_each": hours / raters}
