"""Correlations of a table, and their standard errors over items."""

import numpy as np
import pytest

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
