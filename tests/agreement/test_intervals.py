"""Intervals, standard errors and exact tests of one share."""

from math import sqrt

import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from annotation.agreement.statistics import intervals


def test_wilsons_interval_of_six_of_ten():
    found = intervals.wilson(6, 10)
    assert (found.value, found.se) == pytest.approx((0.6, sqrt(0.024)), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((0.312674, 0.831820), abs=1e-6)


def test_the_exact_interval_of_five_of_ten():
    found = intervals.clopper_pearson(5, 10)
    assert (found.value, found.se) == pytest.approx((0.5, sqrt(0.025)), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((0.187086, 0.812914), abs=1e-6)


@pytest.mark.parametrize(("successes", "low", "high"), [(0, 0, 0.3085), (10, 0.6915, 1)])
def test_the_exact_interval_of_none_and_all_reaches_the_end(successes, low, high):
    found = intervals.clopper_pearson(successes, 10)
    assert (found.low, found.high, found.se) == pytest.approx((low, high, 0), abs=1e-4)


def test_a_fair_coin_in_both_tails():
    assert intervals.coin_test([0, 1, 5, 10], 10) == pytest.approx(
        [2 / 1024, 22 / 1024, 1, 2 / 1024]
    )


def test_holms_adjustment_never_falls():
    assert intervals.holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])


def test_intervals_and_exact_tests():
    for successes, trials in ((0, 7), (3, 7), (7, 7), (412, 1000)):
        for ours, method in ((intervals.wilson, "wilson"), (intervals.clopper_pearson, "beta")):
            found = ours(successes, trials)
            low, high = proportion_confint(successes, trials, method=method)
            assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
        expected = scipy.stats.binomtest(successes, trials).pvalue
        assert intervals.coin_test(successes, trials) == pytest.approx(expected, abs=1e-12)
    p = [0.03, 0.001, 0.2, 0.04]
    assert intervals.holm(p) == pytest.approx(multipletests(p, method="holm")[1])
