"""Which items people vote on where models have judged all of them, and when to stop.

Items are drawn by probability (active statistical inference: Zrnic and Candès 2024), so that
weights of one over the probability keep estimates unbiased (``prediction_powered.mean``).
Intervals that are looked at after every vote are confidence sequences (Waudby-Smith and Ramdas,
"Estimating means of bounded random variables by betting", JRSS B 86, 2024, theorem 2).
"""

import numpy as np

from .coefficient import CONFIDENCE

# The part of all votes that is spread evenly: no item's probability is below its share of these.
FLOOR = 0.2
# How much more weight than doubt itself the equality of all items has before anybody voted: with
# less, models whose doubt tells nothing widen the intervals of few votes.
PRIOR = 3.0


def uncertainty(shares: np.ndarray) -> np.ndarray:
    """How uncertain each item's label is: the standard deviation of what is said, from 0 to ½.

    ``shares`` has a row an item: what part of the verdicts names each label. The deviation of the
    label that is least sure is taken, which of two labels is √(p(1 − p)).
    """
    return np.sqrt(shares * (1 - shares)).max(axis=1, initial=0.0)


def learned_spread(doubt: np.ndarray, residual: np.ndarray, judged: np.ndarray) -> np.ndarray:
    """How far people are likely to lie from the model on each item, from those they voted on.

    ``doubt`` is the uncertainty of each item, ``residual`` people's mean minus the prediction of
    the items ``judged`` (their codes), which few votes bring about where people disagree, too.
    Squared residuals are a + b doubt² by least squares with a, b ≥ 0: where doubt tells nothing b
    is 0, and all items are alike. Before anybody voted b is 1, and a the mean of doubt² PRIOR
    times.
    """
    if not len(judged):
        return np.sqrt(PRIOR * (doubt**2).mean() + doubt**2)
    # Only here: scipy's optimisation takes half a second to import.
    from scipy.optimize import nnls

    columns = np.column_stack([np.ones(len(judged)), doubt[judged] ** 2])
    (level, slope), _rest = nnls(columns, residual**2)
    return np.sqrt(level + slope * doubt**2)


def probabilities(spread: np.ndarray, items: float, floor: float = FLOOR) -> np.ndarray:
    """The probability with which each item is drawn, ``items`` of them expected.

    Proportional to ``spread``, mixed with equal parts: π = (1 − τ) b s / Σs + τ b / N, with τ the
    ``floor``, above 0 and up to 1. What is above 1 is 1, and the rest is spread over the others in
    proportion.
    """
    number = len(spread)
    if items >= number:
        return np.ones(number)
    total = float(spread.sum())
    share = spread / total if total else np.full(number, 1 / number)
    wanted = (1 - floor) * share + floor / number
    sure = np.zeros(number, dtype=bool)
    while True:
        left = items - sure.sum()
        scale = left / wanted[~sure].sum()
        above = ~sure & (wanted * scale > 1)
        if not above.any():
            return np.where(sure, 1.0, wanted * scale)
        sure |= above


def drawn_until(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """The probability of being drawn in one of two rounds that are drawn independently."""
    return 1 - (1 - before) * (1 - now)


def confidence_sequence(
    values: np.ndarray, low: float = 0.0, high: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """The lower and upper ends after each of ``values``, which lie from ``low`` to ``high``.

    With 95 % probability the mean lies between them after every value at once, so that one may look
    as often as one likes and stop when one wants. Predictable plug-in empirical Bernstein; ends
    never come apart again (running intersection).
    """
    x = (np.asarray(values, dtype=float) - low) / (high - low)
    count = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (count + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (count + 1)
    seen_mean = np.concatenate([[0.5], mean])[: len(x)]
    seen_variance = np.concatenate([[0.25], variance])[: len(x)]
    reach = np.log(2 / (1 - CONFIDENCE))
    # Bets are at most ½: a larger one gains little and needs a longer recovery.
    bet = np.minimum(np.sqrt(2 * reach / (seen_variance * count * np.log(count + 1))), 0.5)
    total = np.cumsum(bet)
    centre = np.cumsum(bet * x) / total
    loss = 4 * (x - seen_mean) ** 2 * (-np.log1p(-bet) - bet) / 4
    width = (reach + np.cumsum(loss)) / total
    lower = np.maximum.accumulate(np.maximum(centre - width, 0.0))
    upper = np.minimum.accumulate(np.minimum(centre + width, 1.0))
    return low + lower * (high - low), low + upper * (high - low)
