"""Intervals from standard errors, and standard errors from resamples."""

from math import sqrt

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from annotation.agreement.statistics import coefficient, correlation, kappas
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from tests.agreement.conftest import as_json, make_votes

T_OF_4, NORMAL = 2.7764451051977987, 1.959963984540054


def test_the_t_interval_has_a_degree_less_than_units():
    found = coefficient.with_t_interval(0.5, 0.1, 5)
    limits = (0.5 - 0.1 * T_OF_4, 0.5 + 0.1 * T_OF_4)
    assert found.se == 0.1
    assert (found.low, found.high) == pytest.approx(limits, rel=1e-9)


def test_one_unit_has_a_value_and_no_standard_error():
    found = coefficient.with_t_interval(0.5, 0.0, 1)
    assert found == coefficient.Coefficient(0.5, reason="one item has no standard error")


def test_the_t_interval_is_cut_at_the_limits_of_the_statistic():
    found = coefficient.with_t_interval(0.5, 0.4, 5, floor=0.0)
    assert (found.low, found.high) == (0.0, 1.0)


def test_the_interval_of_large_samples_is_not_cut():
    found = coefficient.with_normal_interval(0.5, 0.4)
    limits = (0.5 - 0.4 * NORMAL, 0.5 + 0.4 * NORMAL)
    assert found.se == 0.4
    assert (found.low, found.high) == pytest.approx(limits, rel=1e-9)


def test_the_standard_error_of_resamples_divides_by_one_less_than_their_number():
    found = coefficient.with_resamples(0.4, [0.2, float("nan"), 0.6, 0.4])
    limits = (0.4, 0.2, 0.21, 0.59)
    assert (found.value, found.se, found.low, found.high) == pytest.approx(limits, rel=1e-12)


def test_one_defined_resample_gives_no_interval():
    found = coefficient.with_resamples(0.4, [0.2, float("nan")])
    assert found == coefficient.Coefficient(0.4, reason="no resample had a value")


def test_wilsons_interval_of_six_of_ten():
    found = coefficient.wilson(6, 10)
    assert (found.value, found.se) == pytest.approx((0.6, sqrt(0.024)), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((0.312674, 0.831820), abs=1e-6)


def test_the_exact_interval_of_five_of_ten():
    found = coefficient.clopper_pearson(5, 10)
    assert (found.value, found.se) == pytest.approx((0.5, sqrt(0.025)), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((0.187086, 0.812914), abs=1e-6)


def test_intervals_and_exact_tests():
    for successes, trials in ((0, 7), (3, 7), (7, 7), (412, 1000)):
        for ours, method in ((coefficient.wilson, "wilson"), (coefficient.clopper_pearson, "beta")):
            found = ours(successes, trials)
            low, high = proportion_confint(successes, trials, method=method)
            assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
        expected = scipy.stats.binomtest(successes, trials).pvalue
        assert coefficient.coin_test(successes, trials) == pytest.approx(expected, abs=1e-12)
    p = [0.03, 0.001, 0.2, 0.04]
    assert coefficient.holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_one_category_has_no_fleiss_and_no_alpha_but_full_agreement():
    patterns = patterns_of([[9, 0], [9, 0]])
    assert kappas.fleiss_kappa(patterns).reason == "only one category was voted for"
    assert alpha(patterns).reason == "only one category was voted for"
    assert kappas.percent_agreement(patterns).value == 1
    assert kappas.symmetric_kappa(patterns).value == 1


def test_one_vote_an_item_is_null_everywhere_and_valid_json():
    votes = make_votes({"t1": {"a": "1"}, "t2": {"b": "2"}, "t3": {"a": "2"}})
    report = as_json(votes, "ratio")
    for name in ("percent_agreement", "fleiss_kappa", "symmetric_kappa", "gwet_ac1", "gwet_ac2"):
        assert report[name] == {"value": None, "reason": "no item has two votes"}
    assert set(report["krippendorff_alpha"]) == {"nominal", "ordinal", "interval", "ratio"}
    assert all(a["value"] is None for a in report["krippendorff_alpha"].values())
    cohen = report["cohen_kappa"]
    assert cohen == {"pairs": [], "mean": None, "reason": "no two annotators share an item"}
    assert all(found["value"] is None for found in report["icc"].values())


def test_nothing_counted_has_no_interval_and_constant_scores_no_correlation():
    assert coefficient.wilson(0, 0).reason == "nothing was counted"
    assert coefficient.clopper_pearson(0, 0).value is None
    constant = np.array([[3, 4]])
    for found in (correlation.spearman(constant), correlation.pearson(constant, [1], [1, 2])):
        assert found.value is None
        assert "does not vary" in found.reason


def test_labels_that_are_names_of_answers_are_named_as_the_fault():
    with pytest.raises(ValueError, match="must be categories that the tasks share"):
        kappas.count_votes(np.array([0]), np.array([0]), 100_000, 100_000)
