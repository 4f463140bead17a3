"""Coefficients over items: by hand, from other libraries, and where there is none."""

import math
from math import sqrt

import numpy as np
import pytest
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.kappas import patterns_of
from tests.agreement.conftest import make_counts

# Three votes an item: the shares of agreeing pairs are 1, 1/3 and 1.
THREE_ITEMS = kappas.patterns_of([[3, 0], [2, 1], [0, 3]])


@pytest.mark.parametrize(
    ("coefficient", "value", "se"),
    [
        (kappas.percent_agreement, 7 / 9, 2 / 9),
        (kappas.symmetric_kappa, 5 / 9, 4 / 9),
        (kappas.brennan_prediger, 5 / 9, 4 / 9),
        # Chance 41/81; Gwet's terms of the items are 0.91, -0.3725 and 1.1125.
        (kappas.fleiss_kappa, 0.55, sqrt(1.2970125 / 6)),
        # Chance 40/81; the terms are 1825, -497 and 1501 of 1681.
        (kappas.gwet_ac1, 23 / 41, sqrt(3162888 / 6) / 1681),
        (lambda patterns: kappas.mean_share(patterns, 0), 5 / 9, sqrt(7) / 9),
    ],
)
def test_the_standard_error_of_three_items(coefficient, value, se):
    found = coefficient(THREE_ITEMS)
    assert (found.value, found.se) == pytest.approx((value, se), rel=1e-12)


def test_the_standard_error_of_weighted_votes():
    """Two votes on 1 to 3: agreement 1, 3/4, 3/4, chance 11/18, terms 122, 41 and 5 of 98."""
    patterns = kappas.patterns_of([[2, 0, 0], [1, 1, 0], [0, 1, 1]])
    found = kappas.gwet_ac2(patterns, [1, 2, 3])
    assert (found.value, found.se) == pytest.approx((4 / 7, sqrt(7182 / 6) / 98), rel=1e-12)


def test_an_item_of_one_vote_enters_the_standard_error_of_chance_corrected_agreement():
    """Items of votes 2:0, 0:2 and 1:0; chance 1/2; terms 3/2, 3/2 and 0 around the value 1."""
    found = kappas.brennan_prediger(kappas.patterns_of([[2, 0], [0, 2], [1, 0]]))
    assert (found.value, found.se) == pytest.approx((1, 0.5), rel=1e-12)


@pytest.mark.parametrize("options", [2, 3, 5])
def test_fleiss_and_free_marginal_kappa(options):
    counts = make_counts(400, 9, options)
    patterns = patterns_of(counts)
    assert kappas.fleiss_kappa(patterns).value == pytest.approx(
        statsmodels_kappa(counts, "fleiss"), abs=1e-13
    )
    assert kappas.brennan_prediger(patterns).value == pytest.approx(
        statsmodels_kappa(counts, "randolph"), abs=1e-13
    )


def test_a_win_rate_is_a_mean_over_items():
    patterns = patterns_of([[9, 0]] * 50 + [[0, 9]] * 50)
    found = kappas.mean_share(patterns, 0)
    assert found.value == 0.5
    # A hundred independent items, not nine hundred votes.
    assert found.se == pytest.approx(0.5 / math.sqrt(99))


def test_intervals_of_kappa_cover_as_often_as_they_say():
    covered, a = 0, 0.5
    rng = np.random.default_rng(0)
    for _ in range(300):
        counts = rng.multinomial(9, rng.dirichlet([a, a], 100))
        found = kappas.symmetric_kappa(patterns_of(counts))
        covered += found.low <= 0.5 <= found.high
    assert 0.91 <= covered / 300 <= 0.98


def test_one_option_alone_has_no_kappa_at_all():
    patterns = patterns_of([[9], [9]])
    for coefficient in (kappas.symmetric_kappa, kappas.brennan_prediger, kappas.gwet_ac1):
        assert coefficient(patterns).value is None


def test_unequal_numbers_of_votes_are_no_error():
    patterns = patterns_of([[9, 0], [3, 2], [1, 0]])
    found = kappas.fleiss_kappa(patterns)
    share = (1 + 0.6 + 1) / 3
    chance = share**2 + (1 - share) ** 2
    assert found.value == pytest.approx(((1 + 0.4) / 2 - chance) / (1 - chance))


def test_the_table_of_two_raters_divides_by_one_less_than_the_items():
    patterns = patterns_of([[2, 0]] * 30 + [[0, 2]] * 40 + [[1, 1]] * 30)
    agreement = np.repeat([1.0, 1.0, 0.0], [30, 40, 30])
    expected = agreement.std(ddof=1) / 10
    assert kappas.percent_agreement(patterns).se == pytest.approx(expected)
