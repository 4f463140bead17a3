"""Standard errors of strengths, worked out by hand."""

from math import log, sqrt

import numpy as np
import pytest

from annotation.agreement.statistics.bradley_terry import bradley_terry

FIRST, SECOND = np.zeros(4, int), np.ones(4, int)
# Model 0 wins three of four: chance 3/4, information 4 · 3/4 · 1/4 on the difference.
SCORE = [1, 1, 1, 0]


def test_the_standard_error_of_independent_votes_is_fishers():
    fit = bradley_terry(FIRST, SECOND, SCORE, 2)
    assert fit.strength == pytest.approx([log(3) / 2, -log(3) / 2], rel=1e-9)
    assert fit.se == pytest.approx([sqrt(1 / 3)] * 2, rel=1e-9)


def test_the_standard_error_over_items_is_the_sandwich():
    """The residuals' sums of the two items are 1/2 and -1/2."""
    fit = bradley_terry(FIRST, SECOND, SCORE, 2, item=np.array([0, 0, 1, 1]))
    assert fit.se == pytest.approx([sqrt(2) / 3] * 2, rel=1e-9)


def test_the_standard_error_of_the_side_shown_first():
    """Shown first, model 0 wins 3 of 4 and model 1 one of 2: the logits log 3 and 0, their
    variances 4/3 and 2; the order effect is their mean, the strengths half of half the difference.
    """
    first, second = np.array([0, 0, 0, 0, 1, 1]), np.array([1, 1, 1, 1, 0, 0])
    fit = bradley_terry(first, second, [*SCORE, 1, 0], 2, order=True)
    order = (fit.order.value, fit.order.se)
    assert order == pytest.approx((log(3) / 2, sqrt(5 / 6)), rel=1e-9)
    assert fit.se == pytest.approx([sqrt(5 / 24)] * 2, rel=1e-9)


def test_a_virtual_opponent_enters_the_standard_error():
    """Two models that were never compared have half a win and half a loss each, and no order."""
    none = np.array([], int)
    fit = bradley_terry(none, none, [], 2)
    assert fit.regularised
    # Information 1/4 of each; centred, half of the difference's variance 8 halves again.
    assert fit.se == pytest.approx([sqrt(2)] * 2, rel=1e-9)
