"""The share of the side shown first, clustered by item."""

import pytest

from annotation.agreement.statistics.side_bias import side_bias


def test_the_standard_error_over_items():
    """Votes for the first side less those for the second are 2, 0 and 2 of three items."""
    found, p = side_bias([0, 0, 1, 1, 2, 2], [1, 1, 1, 0, 1, 1])
    assert (found.value, found.se) == pytest.approx((5 / 6, 1 / 6), rel=1e-12)
    assert p == pytest.approx(0.0455003, abs=1e-7)
