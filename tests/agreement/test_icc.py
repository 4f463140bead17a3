"""Intraclass correlations as printed, and where there are none."""

import numpy as np
import pytest

from annotation.agreement.report import agreement_report
from annotation.agreement.statistics import icc
from tests.agreement.conftest import SIX_TARGETS, make_votes


def test_scores_without_variance_have_no_icc():
    found = icc.icc(icc.sums_of_table([[3, 3], [3, 3]]))
    assert {c.reason for c in found.values()} == {"all scores are equal"}


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
    found = icc.icc(icc.sums_of_table(SIX_TARGETS))
    assert {name: round(c.value, 2) for name, c in found.items()} == {
        "icc1": 0.17, "icc2": 0.29, "icc3": 0.71, "icc1k": 0.44, "icc2k": 0.62, "icc3k": 0.91,
    }  # fmt: skip
    limits = {name: (round(c.low, 2), round(c.high, 2)) for name, c in found.items()}
    # Limits as printed by the R package psych for this table.
    assert limits == {
        "icc1": (-0.13, 0.72), "icc2": (0.02, 0.76), "icc3": (0.34, 0.95),
        "icc1k": (-0.88, 0.91), "icc2k": (0.07, 0.93), "icc3k": (0.68, 0.99),
    }  # fmt: skip
