"""Kendall's coefficient of concordance of several people's orders of the same things."""

from collections.abc import Sequence

import numpy as np

from .coefficient import Coefficient, undefined, with_t_interval

NO_ITEM = "no item has two rankings that differ in their places"


def concordance(places: np.ndarray) -> float:
    """Kendall's W of ``places`` (raters, things), 1 is best; equal places get their mean rank.

    NaN of fewer than two raters or things, or where everybody puts all things on one place.
    With the correction for ties of Kendall and Babington Smith (1939), Kendall (1945).
    """
    from scipy.stats import rankdata  # a second and 40 MB, needed for rankings alone

    raters, things = places.shape
    if raters < 2 or things < 2:
        return float("nan")
    ranks = rankdata(places, axis=1)
    sums = ranks.sum(axis=0)
    spread = float(((sums - sums.mean()) ** 2).sum())
    ties = sum(float((n**3 - n).sum()) for n in (_sizes(row) for row in places))
    most = raters**2 * (things**3 - things) - raters * ties
    return 12 * spread / most if most > 0 else float("nan")


def _sizes(row: np.ndarray) -> np.ndarray:
    return np.unique(row, return_counts=True)[1]


def mean_over_items(values: list[float], *, floor: float) -> Coefficient:
    """The mean of the items' ``values`` (NaN: left out) with the t-interval over items."""
    defined = np.array([value for value in values if np.isfinite(value)])
    if not defined.size:
        return undefined(NO_ITEM)
    error = defined.std(ddof=1) / np.sqrt(defined.size) if defined.size > 1 else 0.0
    return with_t_interval(defined.mean(), error, defined.size, floor=floor)


def report(rankings: Sequence[np.ndarray]) -> dict:
    """Kendall's W and the mean rank correlation over items, for storing.

    ``rankings`` are the ``places`` (raters, things) of each item.
    """
    paired = [places for places in rankings if len(places) > 1]
    w = [concordance(places) for places in paired]
    r = [(len(p) * value - 1) / (len(p) - 1) for p, value in zip(paired, w, strict=True)]
    return {
        "paired_items": len(paired),
        "kendall_w": mean_over_items(w, floor=0.0).as_json(),
        "rank_correlation": mean_over_items(r, floor=-1.0).as_json(),
    }
