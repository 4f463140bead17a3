"""Alpha: by hand, with missing votes as another library has it, and its standard error."""

from math import sqrt

import evalica
import numpy as np
import pandas as pd
import pytest

from annotation.agreement.statistics import krippendorff
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from tests.agreement.conftest import long_form, make_counts

# Two votes an item: the votes on two of the four items differ; four votes for either category.
PATTERNS = patterns_of([[2, 0], [1, 1], [1, 1], [0, 2]])


def test_alpha_of_four_items():
    """Four of eight votes meet another one on their item, 32 of 56 pairs of votes differ."""
    assert krippendorff.alpha(PATTERNS).value == pytest.approx(1 - (4 / 8) / (32 / 56))


def test_the_standard_error_is_that_of_the_resamples():
    drawn = np.array([0.0, 0.5, 0.25, 0.25, np.nan])
    found = krippendorff.with_draws(PATTERNS, "nominal", None, drawn)
    assert found.se == pytest.approx(sqrt(0.125 / 3), rel=1e-12)


def test_the_resamples_of_a_seed_give_the_standard_error():
    """They have the spread of all 256 ways to draw four of the four items."""
    found = krippendorff.alpha(PATTERNS, resamples=20_000, seed=1)
    values = []
    for draws in np.ndindex(4, 4, 4, 4):
        counts = np.array([[2, 0], [1, 1], [1, 1], [0, 2]])[list(draws)]
        zeros, ones = counts.sum(axis=0)
        if zeros and ones:
            unequal = (counts[:, 0] == 1).sum()
            values.append(1 - (2 * unequal / 8) / (2 * zeros * ones / 56))
    assert found.se == pytest.approx(np.std(values), rel=0.02)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_with_missing_votes(level):
    counts = make_counts(300, 6, 5, missing=0.2)
    item, worker, category = long_form(counts)
    table = pd.DataFrame({"i": item, "w": worker, "c": category + 1.0})
    table = table.pivot(index="w", columns="i", values="c")
    ours = alpha(patterns_of(counts), level, [1, 2, 3, 4, 5], resamples=0)
    assert ours.value == pytest.approx(evalica.alpha(table, level).alpha, abs=1e-12)


def test_ratio_level_refuses_negative_numbers_only():
    patterns = patterns_of(make_counts(20, 5, 3))
    assert alpha(patterns, "ratio", [-1, 0, 1]).value is None
    assert alpha(patterns, "ratio", [0, 1, 2]).value is not None
