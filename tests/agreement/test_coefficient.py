"""Intervals from standard errors, and standard errors from resamples."""

import pytest

from annotation.agreement.statistics import coefficient

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
