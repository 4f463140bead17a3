"""Concordance of a few orders, and its mean over items."""

from math import isnan, sqrt

import numpy as np
import pytest

from annotation.agreement.statistics import kendall


def test_concordance_of_equal_and_of_opposite_orders():
    assert kendall.concordance(np.array([[1, 2, 3], [1, 2, 3]])) == 1
    assert kendall.concordance(np.array([[1, 2, 3], [3, 2, 1]])) == 0
    assert isnan(kendall.concordance(np.array([[1, 1, 1], [2, 2, 2]])))


def test_equal_places_are_corrected_for():
    """Ranks 1.5, 1.5, 3 and 1, 2, 3: sums' spread 6.5, at most 2² · 24 less 2 · 6."""
    assert kendall.concordance(np.array([[1, 1, 2], [1, 2, 3]])) == pytest.approx(78 / 84)


def test_the_standard_error_of_the_mean_over_items():
    found = kendall.mean_over_items([1.0, float("nan"), 0.5, 0.0], floor=0.0)
    assert (found.value, found.se) == pytest.approx((0.5, 0.5 / sqrt(3)), rel=1e-12)
