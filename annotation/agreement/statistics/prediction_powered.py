"""A quantity from people's votes on some items and a model's predictions on all of them.

Prediction-powered inference with power tuning (PPI++: Angelopoulos, Duchi and Zrnic 2023), with
weights where items were chosen by probability (Zrnic and Candès 2024), and with the variance that
votes on the same item and of the same rater share.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from annotation.agreement.statistics.coefficient import CONFIDENCE, ONE_ITEM, Coefficient, undefined

NO_VOTES = "nobody voted on these items"
ALIKE = "all votes are alike: the interval has no width"


@dataclass(frozen=True)
class Estimate:
    """One quantity three ways.

    ``effective`` is how many votes of people alone would give the interval of ``combined``, None
    where there is none; ``weight`` is lambda, from 0 (the model is left out) to 1. ``model`` is
    the model alone on all items, which is biased and has no interval.
    """

    people: Coefficient
    combined: Coefficient
    model: float | None
    votes: int
    predicted: int
    effective: float | None
    weight: float


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
    known = ~np.isnan(votes.predicted)
    predicted, forecast = votes.predicted, None
    if known.any():
        forecast = float(votes.predicted[known].mean())
        predicted = np.where(known, votes.predicted, forecast)
    judged, place, counts = np.unique(votes.item, return_inverse=True, return_counts=True)
    n, sizes = len(judged), (len(votes.value), int(known.sum()))
    if not n:
        nobody = undefined(NO_VOTES)
        return Estimate(nobody, nobody, forecast, *sizes, None, 0.0)
    own = np.bincount(place, weights=votes.value) / counts
    share = np.ones(n) if votes.chance is None else 1 / votes.chance[judged]
    share /= share.sum()
    value = float(share @ own)
    if n < 2:
        alone = Coefficient(value, reason=ONE_ITEM)
        return Estimate(alone, alone, forecast, *sizes, None, 0.0)
    each = share[place] / counts[place]
    common, raters = _of_raters(place, votes.rater, votes.value, each, value)
    scale = n / (n - 1)
    people_items = scale * float(((share * (own - value)) ** 2).sum())
    limits = low, high
    people = _interval(value, people_items, common, n, raters, limits)
    if people.se is None:
        return Estimate(people, people, forecast, *sizes, None, 0.0)
    slope = 0.0
    if forecast is not None:
        slope, items = _slope(share, own - value, predicted, judged)
        items *= n / (n - 2) if n > 2 else np.inf
    if not slope or items >= people_items:
        return Estimate(people, people, forecast, *sizes, float(len(votes.value)), 0.0)
    corrected = value + slope * float(predicted.mean() - share @ predicted[judged])
    combined = _interval(corrected, items, common, n, raters, limits)
    gain = (people_items + common) / (items + common)
    weight = slope * (1 - n / len(predicted))
    return Estimate(people, combined, forecast, *sizes, len(votes.value) * gain, weight)


def _slope(
    share: np.ndarray, deviation: np.ndarray, predicted: np.ndarray, judged: np.ndarray
) -> tuple[float, float]:
    """The b that makes the variance between items least, and that variance."""
    # Influences of item i: of people alone, and of the difference that b multiplies.
    alone, difference = np.zeros(len(predicted)), (predicted.mean() - predicted) / len(predicted)
    alone[judged] = share * deviation
    difference[judged] += share * (predicted[judged] - share @ predicted[judged])
    size = float((difference**2).sum())
    # Of equal predictions only rounding is left.
    if size <= 1e-24 * max(1.0, float((predicted**2).max())):
        return 0.0, float((alone**2).sum())
    most = len(predicted) / max(len(predicted) - len(judged), 1e-12)
    slope = float(np.clip(alone @ difference / size, 0.0, most))
    return slope, float(((alone - slope * difference) ** 2).sum())


def _of_raters(place: np.ndarray, rater: np.ndarray, value: np.ndarray, share: np.ndarray,
               centre: float) -> tuple[float, int]:  # fmt: skip
    """What raters' own levels add to the variance between items, and how many raters there are.

    A vote is item + rater + rest, both random. With S_r the sum of a rater's deviations from the
    items' means, L the information matrix of the incomplete blocks and t = votes − items (Henderson
    1953): E Σ S_r² = σ² tr(L²) + σ_rest² t, and E Σ deviation² = t (σ² + σ_rest²). Without
    items of several votes the raters' sums themselves are compared (Liang and Zeger 1986).
    ``share`` is each vote's weight in the mean, ``centre`` the mean.
    """
    _raters, code, counts = np.unique(rater, return_inverse=True, return_counts=True)
    many, items = len(counts), int(place.max()) + 1
    if many < 2:
        return 0.0, many
    sums = np.bincount(code, weights=share)
    shared = float((sums**2).sum() - (share**2).sum()) * items / (items - 1)
    size = np.bincount(place)
    own = value - (np.bincount(place, weights=value) / size)[place]
    cells = (1 / np.sqrt(size[place]), (place, code))
    blocks = scipy.sparse.coo_array(cells, shape=(items, many)).tocsr()
    information = scipy.sparse.diags_array(counts.astype(float)) - blocks.T @ blocks
    free, squares = len(value) - items, float((information**2).sum())
    if squares - free > 1e-9 * max(free, 1):
        between = float((np.bincount(code, weights=own) ** 2).sum())
        level = (between - float((own**2).sum())) / (squares - free)
        return max(0.0, level) * shared, many
    within = share * (value - centre)
    together = many / (many - 1) * float((np.bincount(code, weights=within) ** 2).sum())
    return max(0.0, together - float((within**2).sum())), many


def _interval(
    value: float, items: float, raters: float, n: int, people: int, limits: tuple[float, float]
) -> Coefficient:
    """The interval of a variance in two parts, each with Student's quantile of its own degrees."""
    if items + raters <= 1e-24:
        return Coefficient(value, reason=ALIKE)
    tail = (1 + CONFIDENCE) / 2
    squared = items * float(scipy.special.stdtrit(n - 1, tail)) ** 2
    if raters:
        squared += raters * float(scipy.special.stdtrit(people - 1, tail)) ** 2
    reach = float(np.sqrt(squared))
    low, high = max(limits[0], value - reach), min(limits[1], value + reach)
    return Coefficient(value, float(np.sqrt(items + raters)), min(low, value), max(high, value))
