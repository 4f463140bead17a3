"""A quantity from people's votes on some items and a model's predictions on all of them.

Prediction-powered inference with power tuning (PPI++: Angelopoulos, Duchi and Zrnic 2023), with
weights where items were chosen by probability (Zrnic and Candès 2024), and with the variance that
votes on the same item and of the same rater share.

Which items people vote on where models have judged all of them, and when to stop: items are drawn
by probability (active statistical inference), so that weights of one over the probability keep
estimates unbiased (``mean``). Intervals that are looked at after every vote are confidence
sequences (Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting",
JRSS B 86, 2024, theorem 2).
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy

from .coefficient import CONFIDENCE, ONE_ITEM, Coefficient, undefined

NO_VOTES = "nobody voted on these items"
ALIKE = "all votes are alike and have no bounds"
# The part of all votes that is spread evenly: no item's probability is below its share of these.
FLOOR = 0.2
# How much more weight than doubt itself the equality of all items has before anybody voted: with
# less, models whose doubt tells nothing widen the intervals of few votes.
PRIOR = 3.0
# What rounding leaves of a variance of nothing.
TINY = 1e-24


@dataclass(frozen=True)
class Estimate:
    """One quantity three ways.

    ``effective`` is how many votes of people alone would give the interval of ``combined``, None
    where there is none; ``weight`` is lambda, from 0 (the model is left out) to 1. ``model`` is
    the model alone on all items, which is biased and has no interval. ``judged`` of ``items`` have
    votes, ``predicted`` of them a prediction.
    """

    people: Coefficient
    combined: Coefficient
    model: float | None
    votes: int
    predicted: int
    effective: float | None
    weight: float
    judged: int
    items: int


@dataclass(frozen=True)
class Votes:
    """People's votes: item codes, rater codes and values, a row each.

    ``predicted`` has a prediction for each item, NaN where the model gave none: such items count
    with the mean of the others, as any fixed prediction may. ``chance`` is the probability with
    which each item was chosen for votes; None where all had the same.
    """

    item: np.ndarray
    rater: np.ndarray
    value: np.ndarray
    predicted: np.ndarray
    chance: np.ndarray | None = None


def mean(votes: Votes, *, low: float = -np.inf, high: float = np.inf) -> Estimate:
    """The mean over items of what people say of each, which lies from ``low`` to ``high``.

    With M items, votes on n of them, Y_i the mean of an item's votes, f_i its prediction and
    ω_i ∝ 1/π_i (sum 1 over the n)::

        θ = Σ ω_i Y_i + b (Σ_M f_i / M − Σ ω_i f_i),    λ = b (M − n) / M

    which for equal π is PPI++'s mean(Y) + λ (mean of the other f − mean of these f). b makes the
    variance between items least, with λ from 0 to 1: λ = cov(Y, f) / ((1 + n/N) var(f)), N = M − n.
    The variance is Σ ψ_i² over items, ψ_i the linearised share of item i, with n/(n−2) for the
    estimated b, plus what raters' own levels add (never below 0); each part has Student's
    quantile of its own degrees of freedom, which holds with few raters too (Graybill and Wang
    1980). Where the variance is no less than people's, λ is 0.
    """
    predicted, missing = filled(votes.predicted), np.isnan(votes.predicted)
    model = None if missing.all() else float(votes.predicted[~missing].mean())
    sample = Sample.of(votes)
    n, number = len(sample.items), len(votes.value)

    def people_alone(people: Coefficient, effective: float | None = None) -> Estimate:
        sizes = {"votes": number, "predicted": int((~missing).sum()), "judged": n}
        return Estimate(people, people, model, effective=effective, weight=0.0,
                        items=len(predicted), **sizes)  # fmt: skip

    if n < 2:
        reason = Coefficient(float(sample.means[0]), reason=ONE_ITEM) if n else undefined(NO_VOTES)
        return people_alone(reason)
    value = float(sample.weights @ sample.means)
    common, raters = of_raters(sample, votes.rater, votes.value, value)
    alone, difference = influences(sample, sample.means, predicted)
    variance = n / (n - 1) * float((alone**2).sum())
    if variance + common <= TINY:
        return people_alone(_alike(value, 1 / float((sample.weights**2).sum()), low, high))
    people = interval(value, variance, common, n, raters, (low, high))
    most = len(predicted) / max(len(predicted) - n, 1e-12)
    slope = least_variance(alone, difference, most) if n > 2 else 0.0
    residual = variance
    if slope:
        residual = n / (n - 2) * float(((alone - slope * difference) ** 2).sum())
    if residual >= variance:
        return people_alone(people, float(number))
    corrected = value + slope * float(predicted.mean() - sample.weights @ predicted[sample.items])
    combined = interval(corrected, residual, common, n, raters, (low, high))
    effective = number * (variance + common) / (residual + common)
    weight = slope * (1 - n / len(predicted))
    return replace(people_alone(people, effective), combined=combined, weight=weight)


@dataclass(frozen=True)
class Sample:
    """The items that people voted on: their codes ``items``, the ``means`` of their votes and their
    ``weights`` (ω, sum 1); ``row`` is each vote's row among them.
    """

    items: np.ndarray
    row: np.ndarray
    means: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, votes: Votes) -> "Sample":
        items, row, counts = np.unique(votes.item, return_inverse=True, return_counts=True)
        weights = np.ones(len(items)) if votes.chance is None else 1 / votes.chance[items]
        means = np.bincount(row, weights=votes.value) / counts
        return cls(items, row, means, weights / weights.sum())


def filled(predicted: np.ndarray) -> np.ndarray:
    """Predictions with the mean of the others where there is none, 0 where there are no others."""
    missing = np.isnan(predicted)
    return np.where(missing, 0.0 if missing.all() else np.nanmean(predicted), predicted)


def influences(
    sample: Sample, value: np.ndarray, predicted: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What each of all items adds to people's mean, and to what is subtracted b times.

    ``value`` is of the items that people voted on, ``predicted`` of all, (items,) or (items,
    quantities).
    """
    alone, difference = np.zeros_like(predicted), (predicted.mean(axis=0) - predicted)
    difference /= len(predicted)
    weights = sample.weights.reshape(-1, *[1] * (predicted.ndim - 1))
    forecast = predicted[sample.items]
    alone[sample.items] = weights * (value - sample.weights @ value)
    difference[sample.items] += weights * (forecast - sample.weights @ forecast)
    return alone, difference


def least_variance(alone: np.ndarray, difference: np.ndarray, most: float) -> float:
    """The b from 0 to ``most`` that makes the sum of (alone − b difference)² least."""
    size = float((difference**2).sum())
    # Of equal predictions only rounding is left.
    if size <= TINY * max(1.0, float((alone**2).max(initial=0.0))):
        return 0.0
    return float(np.clip((alone * difference).sum() / size, 0.0, most))


def of_raters(
    sample: Sample, rater: np.ndarray, value: np.ndarray, centre: float
) -> tuple[float, int]:
    """What raters' own levels add to the variance between items, and how many raters there are.

    A vote is item + rater + rest, both random. With S_r the sum of a rater's deviations from the
    items' means, L the information matrix of the incomplete blocks and t = votes − items (Henderson
    1953): E Σ S_r² = σ² tr(L²) + σ_rest² t, and E Σ deviation² = t (σ² + σ_rest²). Without
    items of several votes the raters' sums themselves are compared (Liang and Zeger 1986).
    ``centre`` is the mean of ``value``.
    """
    place, size = sample.row, np.bincount(sample.row)
    share = (sample.weights / size)[place]
    _raters, code, counts = np.unique(rater, return_inverse=True, return_counts=True)
    many, items = len(counts), len(size)
    if many < 2:
        return 0.0, many
    sums = np.bincount(code, weights=share)
    shared = float((sums**2).sum() - (share**2).sum()) * items / (items - 1)
    residual = value - (np.bincount(place, weights=value) / size)[place]
    cells = (1 / np.sqrt(size[place]), (place, code))
    blocks = scipy.sparse.coo_array(cells, shape=(items, many)).tocsr()
    information = scipy.sparse.diags_array(counts.astype(float)) - blocks.T @ blocks
    free, squares = len(value) - items, float((information**2).sum())
    if squares - free > 1e-9 * max(free, 1):
        between = float((np.bincount(code, weights=residual) ** 2).sum())
        level = (between - float((residual**2).sum())) / (squares - free)
        return max(0.0, level) * shared, many
    within = share * (value - centre)
    together = many / (many - 1) * float((np.bincount(code, weights=within) ** 2).sum())
    return max(0.0, together - float((within**2).sum())), many


def _alike(value: float, n: float, low: float, high: float) -> Coefficient:
    """The interval where all of ``n`` items have the same value: no variance can be estimated.

    At 95 % at most 1 − 0.05^(1/n) of all items differ (exact binomial; Hanley and Lippman-Hand
    1983), each no farther than to ``low`` or ``high``.
    """
    if not np.isfinite([low, high]).all():
        return Coefficient(value, reason=ALIKE)
    other = 1 - (1 - CONFIDENCE) ** (1 / n)
    return Coefficient(value, None, value - other * (value - low), value + other * (high - value))


def interval(
    value: float,
    items: float,
    raters: float,
    n: int,
    people: int,
    limits: tuple[float, float] = (-np.inf, np.inf),
) -> Coefficient:
    """The interval of a variance in two parts, each with Student's quantile of its own degrees."""
    if items + raters <= TINY:
        return Coefficient(value, reason=ALIKE)
    tail = (1 + CONFIDENCE) / 2
    squared = items * float(scipy.special.stdtrit(n - 1, tail)) ** 2
    if raters:
        squared += raters * float(scipy.special.stdtrit(people - 1, tail)) ** 2
    reach = float(np.sqrt(squared))
    low, high = max(limits[0], value - reach), min(limits[1], value + reach)
    return Coefficient(value, float(np.sqrt(items + raters)), min(low, value), max(high, value))


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
    while not sure.all():
        left = items - sure.sum()
        scale = left / wanted[~sure].sum()
        above = ~sure & (wanted * scale > 1)
        if not above.any():
            return np.where(sure, 1.0, wanted * scale)
        sure |= above
    return np.ones(number)


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
