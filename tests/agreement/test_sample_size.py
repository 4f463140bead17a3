"""Spreads that a plan begins with."""

from math import sqrt

import pytest

from annotation.agreement.statistics import sample_size
from annotation.agreement.statistics.kappas import patterns_of


def test_the_spread_of_a_pilot_divides_by_one_less_than_its_items():
    """The items' own kappas are 1, -1/3 and 1."""
    spread = sample_size.kappa_spread(patterns_of([[3, 0], [2, 1], [0, 3]]))
    assert spread == pytest.approx(4 * sqrt(3) / 9, rel=1e-12)
    assert sample_size.kappa_spread(patterns_of([[3, 0]])) is None
