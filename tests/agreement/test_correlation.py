"""Correlations of a table, and their standard errors over items."""

import numpy as np
import pytest
import scipy.stats

from annotation.agreement.statistics import correlation
from annotation.agreement.statistics.bootstrap import resampled_weights


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
