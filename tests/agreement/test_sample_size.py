"""How many items and votes a plan takes, and what it costs."""

import math
from math import sqrt

import numpy as np
import pytest

from annotation.agreement.statistics import kappas, sample_size
from annotation.agreement.statistics.kappas import patterns_of
from tests.agreement.conftest import make_counts


def test_the_spread_of_a_pilot_divides_by_one_less_than_its_items():
    """The items' own kappas are 1, -1/3 and 1."""
    spread = sample_size.kappa_spread(patterns_of([[3, 0], [2, 1], [0, 3]]))
    assert spread == pytest.approx(4 * sqrt(3) / 9, rel=1e-12)
    assert sample_size.kappa_spread(patterns_of([[3, 0]])) is None


def test_items_for_an_interval_on_kappa():
    spread = sample_size.assumed_kappa_spread(0.5, 9, 2)
    assert round(spread, 2) == 0.44
    assert 285 <= sample_size.items_for_kappa(0.05, spread) <= 305
    assert 790 <= sample_size.items_for_kappa(0.03, spread) <= 830


def test_an_assumed_spread_is_that_of_simulated_votes():
    for options, kappa in ((2, 1 / 3), (3, 0.5)):
        a = (1 / kappa - 1) / options
        rng = np.random.default_rng(0)
        counts = rng.multinomial(9, rng.dirichlet(np.full(options, a), 40_000))
        expected = sample_size.kappa_spread(patterns_of(counts))
        assert sample_size.assumed_kappa_spread(kappa, 9, options) == pytest.approx(
            expected, rel=0.02
        )
        assert kappas.symmetric_kappa(patterns_of(counts)).value == pytest.approx(kappa, abs=0.01)


def test_the_plan_gives_the_interval_it_promises():
    counts = make_counts(400, 9, 2)
    patterns = patterns_of(counts)
    items = sample_size.items_for_kappa(0.05, sample_size.kappa_spread(patterns))
    reach = kappas.symmetric_kappa(patterns).se * 1.96 * math.sqrt(400 / items)
    assert reach == pytest.approx(0.05, rel=0.01)


def test_votes_on_one_item_do_not_replace_items():
    assert sample_size.design_effect(9, 0.5) == 5
    assert sample_size.items_for_win_rate(0.05, 1, 0.5) == 385
    assert sample_size.items_for_win_rate(0.05, 9, 0.5) == 214
    assert sample_size.items_for_win_rate(0.05, 9, 1.0) == 385


def test_hours_of_a_plan():
    assert sample_size.workload(100, 9, 40, raters=10) == {
        "items": 100, "judgments": 900, "hours": 10, "hours_each": 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match="9 votes an item need 9 raters"):
        sample_size.workload(100, 9, 40, raters=8)


@pytest.mark.parametrize("wrong", [(0, 9, 2), (1, 9, 2), (0.5, 1, 2), (0.5, 9, 1)])
def test_a_plan_from_impossible_assumptions_is_refused(wrong):
    with pytest.raises(ValueError, match=r"kappa|two votes"):
        sample_size.assumed_kappa_spread(*wrong)
    with pytest.raises(ValueError, match="half-width"):
        sample_size.items_for_kappa(0, 0.4)
