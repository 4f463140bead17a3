"""The standard error of Cohen's kappa, worked out by hand."""

from math import sqrt

import numpy as np
import pytest

from annotation.agreement.statistics import cohen


def two_annotators():
    """Both say 0 of 20 items and 1 of 15; they differ on 5 and 10."""
    first, second = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [20, 5, 10, 15], axis=0).T
    return cohen.confusion_of_two(first, second, 2)


def test_the_standard_error_is_that_of_fleiss_cohen_and_everitt():
    """Agreement 0.7, chance 0.5; the sums of their formula are 0.10972, 0.10188 and 0.01."""
    (value,), (se,) = cohen.cohen(two_annotators())
    expected = (0.4, sqrt((0.10972 + 0.10188 - 0.01) / (50 * 0.25)))
    assert (value, se) == pytest.approx(expected, rel=1e-12)


def test_the_standard_error_with_weights_of_two_categories_is_the_plain_one():
    (value,), (se,) = cohen.cohen(two_annotators(), np.eye(2))
    assert (value, se) == pytest.approx((0.4, sqrt(0.016128)), rel=1e-12)
