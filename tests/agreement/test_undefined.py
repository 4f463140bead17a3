"""Where other libraries give NaN, an error or a wrong number: here null with a reason."""

import numpy as np
import pytest

from annotation.agreement.statistics import coefficient, correlation, kappas
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from tests.agreement.conftest import as_json, make_votes


def test_one_category_has_no_fleiss_and_no_alpha_but_full_agreement():
    patterns = patterns_of([[9, 0], [9, 0]])
    assert kappas.fleiss_kappa(patterns).reason == "only one category was voted for"
    assert alpha(patterns).reason == "only one category was voted for"
    assert kappas.percent_agreement(patterns).value == 1
    assert kappas.symmetric_kappa(patterns).value == 1


def test_one_vote_an_item_is_null_everywhere_and_valid_json():
    votes = make_votes({"t1": {"a": "1"}, "t2": {"b": "2"}, "t3": {"a": "2"}})
    report = as_json(votes, "ratio")
    for name in ("percent_agreement", "fleiss_kappa", "symmetric_kappa", "gwet_ac1", "gwet_ac2"):
        assert report[name] == {"value": None, "reason": "no item has two votes"}
    assert set(report["krippendorff_alpha"]) == {"nominal", "ordinal", "interval", "ratio"}
    assert all(a["value"] is None for a in report["krippendorff_alpha"].values())
    cohen = report["cohen_kappa"]
    assert cohen == {"pairs": [], "mean": None, "reason": "no two annotators share an item"}
    assert all(found["value"] is None for found in report["icc"].values())


def test_nothing_counted_has_no_interval_and_constant_scores_no_correlation():
    assert coefficient.wilson(0, 0).reason == "nothing was counted"
    assert coefficient.clopper_pearson(0, 0).value is None
    constant = np.array([[3, 4]])
    for found in (correlation.spearman(constant), correlation.pearson(constant, [1], [1, 2])):
        assert found.value is None
        assert "does not vary" in found.reason


def test_labels_that_are_names_of_answers_are_named_as_the_fault():
    with pytest.raises(ValueError, match="must be categories that the tasks share"):
        kappas.count_votes(np.array([0]), np.array([0]), 100_000, 100_000)
