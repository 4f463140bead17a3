"""Correlations of a table, concordance of orders, and intraclass correlations."""

import json
from itertools import product
from math import isnan, sqrt

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, spearmanr

from annotation.agreement.report import agreement_report
from annotation.agreement.statistics import correlation
from annotation.agreement.statistics.bootstrap import resampled_weights
from tests.agreement.conftest import SIX_TARGETS, make_votes, votes_of


def test_the_standard_error_over_items_is_that_of_the_same_resamples_of_rows():
    x, y = np.array([0, 1, 2, 3, 3]), np.array([0, 2, 1, 3, 2])

    def pearson(table):
        return correlation.pearson(table, range(4), range(4))

    found = correlation.item_bootstrap(range(5), x, y, (4, 4), pearson, resamples=50, seed=3)
    # Every item has a pattern of its own; patterns stand in the order of their last cells.
    order = np.argsort(-(x * 4 + y))
    values = []
    for weights in next(resampled_weights(np.ones(5, int), 50, 3)):
        rows = np.repeat(order, weights)
        if np.ptp(x[rows]) and np.ptp(y[rows]):
            values.append(np.corrcoef(x[rows], y[rows])[0, 1])
    assert found.value == pytest.approx(np.corrcoef(x, y)[0, 1], rel=1e-12)
    assert found.se == pytest.approx(np.std(values, ddof=1), rel=1e-9)


def test_correlations_and_their_p_values():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 5, 500)
    y = np.clip(x + rng.integers(-2, 3, 500), 0, 4)
    table = correlation.contingency(x, y, 5, 5)
    values = np.arange(5)
    named = (
        (correlation.pearson(table, values, values), scipy.stats.pearsonr(x, y)),
        (correlation.spearman(table), scipy.stats.spearmanr(x, y)),
    )
    for ours, theirs in named:
        assert ours.value == pytest.approx(theirs.statistic, abs=1e-13)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-8)


def test_a_bootstrap_keeps_the_scores_of_an_item_together():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.integers(0, 3, 60), 10)
    y = np.repeat(rng.integers(0, 3, 60), 10)
    alone = correlation.item_bootstrap(np.arange(600), x, y, (3, 3), correlation.spearman, 300)
    together = correlation.item_bootstrap(
        np.repeat(np.arange(60), 10), x, y, (3, 3), correlation.spearman, 300
    )
    assert alone.value == together.value
    assert together.se > 2 * alone.se


def test_concordance_of_equal_and_of_opposite_orders():
    assert correlation.concordance(np.array([[1, 2, 3], [1, 2, 3]])) == 1
    assert correlation.concordance(np.array([[1, 2, 3], [3, 2, 1]])) == 0
    assert isnan(correlation.concordance(np.array([[1, 1, 1], [2, 2, 2]])))


def test_equal_places_are_corrected_for():
    """Ranks 1.5, 1.5, 3 and 1, 2, 3: sums' spread 6.5, at most 2² · 24 less 2 · 6."""
    assert correlation.concordance(np.array([[1, 1, 2], [1, 2, 3]])) == pytest.approx(78 / 84)


def test_the_standard_error_of_the_mean_over_items():
    found = correlation.mean_over_items([1.0, float("nan"), 0.5, 0.0], floor=0.0)
    assert (found.value, found.se) == pytest.approx((0.5, 0.5 / sqrt(3)), rel=1e-12)


@given(st.lists(st.lists(st.integers(1, 4), min_size=4, max_size=4), min_size=3, max_size=6))
def test_w_is_friedmans_statistic_over_its_greatest_value(rows):
    # W = chi² / (m (n - 1)), with the same correction for ties; scipy computes chi².
    table = np.array(rows)
    if all(len(set(row)) == 1 for row in rows):
        assert np.isnan(correlation.concordance(table))
    else:
        chi2 = friedmanchisquare(*table.T).statistic
        assert correlation.concordance(table) == pytest.approx(chi2 / (len(rows) * 3), abs=1e-12)


@pytest.mark.parametrize("table", [[[1, 2, 3]], [[1, 1, 1], [1, 1, 1]], [[1], [1]]])
def test_w_needs_two_raters_and_an_order(table):
    assert np.isnan(correlation.concordance(np.array(table)))


@given(st.lists(st.permutations(range(1, 6)), min_size=2, max_size=5))
def test_without_ties_w_gives_the_mean_of_all_pairwise_spearman_correlations(orders):
    table, m = np.array(orders), len(orders)
    pairs = [spearmanr(table[a], table[b]).statistic for a in range(m) for b in range(a)]
    assert (m * correlation.concordance(table) - 1) / (m - 1) == pytest.approx(
        np.mean(pairs), abs=1e-12
    )


def test_the_mean_over_items_has_an_interval_from_two_items_on():
    assert correlation.mean_over_items([float("nan")], floor=0.0).value is None
    one = correlation.mean_over_items([0.5], floor=0.0)
    assert (one.value, one.low) == (0.5, None)
    two = correlation.mean_over_items([0.4, 0.6, float("nan")], floor=0.0)
    assert two.value == pytest.approx(0.5) and two.low == 0.0 and two.high == 1.0


def test_scores_without_variance_have_no_icc():
    found = correlation.icc(correlation.sums_of_table([[3, 3], [3, 3]]))
    assert {c.reason for c in found.values()} == {"all scores are equal"}


def test_raters_who_contradict_each_other_everywhere_have_values_and_no_interval():
    """Their two-way form has hardly any degrees of freedom; NaN is no limit, nor in JSON."""
    for table, value in (
        ([[1, 0], [1, 0], [0, 1], [1, 0]], -1.0),
        ([[-2, 2, -2], [3, -3, -3], [-3, 2, -2]], -0.622),
    ):
        found = correlation.icc(correlation.sums_of_table(table))["icc2"]
        assert found.value == pytest.approx(value, abs=1e-3)
        assert (found.low, found.high) == (None, None)


def test_means_of_items_that_differ_by_rounding_alone_are_equal():
    a, b, c = 0.1, 0.2, 0.30000000000000004
    for rows in ([[a, b, c, b], [c, a, c, a]], [[a, c], [b, b]]):
        votes = {
            f"t{n}": dict(zip("abcd", map(str, row), strict=False)) for n, row in enumerate(rows)
        }
        found = agreement_report(make_votes(votes), "interval")["icc"]
        assert found["icc1k"] == {"value": None, "reason": "no variance between items"}


@pytest.mark.parametrize("items", [2, 3, 4])
def test_every_table_of_two_raters_and_two_numbers_is_told_in_json(items):
    for labels in product("01", repeat=2 * items):
        rows = [(f"t{n // 2}", "ab"[n % 2], label) for n, label in enumerate(labels)]
        report = agreement_report(votes_of(rows), "ratio", resamples=5)
        assert json.loads(json.dumps(report, allow_nan=False))["votes"] == 2 * items


def test_items_with_different_raters_have_the_one_way_forms_only():
    votes = make_votes({"t1": {"a": "1", "b": "2"}, "t2": {"b": "4", "c": "5"}, "t3": {"a": "2"}})
    found = agreement_report(votes, "interval")["icc"]
    assert found["icc1"]["value"] is not None
    assert "every rater" in found["icc2"]["reason"]
    # One-way analysis of variance by hand: n₀ = (5 - 9/5)/2, MS between 10.5/2... within 0.5.
    n0 = (5 - (4 + 4 + 1) / 5) / 2
    means, sizes = np.array([1.5, 4.5, 2.0]), np.array([2, 2, 1])
    between = (sizes * (means - 14 / 5) ** 2).sum() / 2
    assert found["icc1"]["value"] == pytest.approx((between - 0.5) / (between + (n0 - 1) * 0.5))


def test_shrout_and_fleiss_six_forms():
    found = correlation.icc(correlation.sums_of_table(SIX_TARGETS))
    assert {name: round(c.value, 2) for name, c in found.items()} == {
        "icc1": 0.17, "icc2": 0.29, "icc3": 0.71, "icc1k": 0.44, "icc2k": 0.62, "icc3k": 0.91,
    }  # fmt: skip
    limits = {name: (round(c.low, 2), round(c.high, 2)) for name, c in found.items()}
    # Limits as printed by the R package psych for this table.
    assert limits == {
        "icc1": (-0.13, 0.72), "icc2": (0.02, 0.76), "icc3": (0.34, 0.95),
        "icc1k": (-0.88, 0.91), "icc2k": (0.07, 0.93), "icc3k": (0.68, 0.99),
    }  # fmt: skip
