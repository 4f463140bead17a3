"""Standard errors of the coefficients over items, worked out by hand."""

from math import sqrt

import pytest

from annotation.agreement.statistics import kappas

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
