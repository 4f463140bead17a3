"""Cohen's kappa: its standard error by hand, its values from other libraries."""

import itertools
from math import sqrt

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from annotation.agreement.statistics import cohen
from tests.agreement.conftest import as_json, long_form, make_counts, make_votes


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


@pytest.mark.parametrize("cells", [cohen.FULL_CELLS, 0])
@pytest.mark.parametrize("grouped", [True, False])
def test_cohen_plain_and_weighted_for_all_pairs(monkeypatch, cells, grouped):
    monkeypatch.setattr(cohen, "FULL_CELLS", cells)
    monkeypatch.setattr(cohen, "KEYS_AT_ONCE", 500)
    item, worker, category = long_form(make_counts(150, 9, 4))
    order = np.random.default_rng(1).permutation(len(item)) if not grouped else slice(None)
    tables = cohen.confusions(item[order], worker[order], category[order], 20, 4)
    table = cohen.cohen_table(tables, [1, 2, 3, 4])
    votes = {(i, w): c for i, w, c in zip(item, worker, category, strict=True)}
    expected_pairs = [
        (a, b)
        for a, b in itertools.combinations(range(20), 2)
        if any((i, a) in votes and (i, b) in votes for i in range(150))
    ]
    assert list(zip(table["a"], table["b"], strict=True)) == expected_pairs
    for row, (a, b) in enumerate(expected_pairs):
        both = [i for i in range(150) if (i, a) in votes and (i, b) in votes]
        one, other = ([votes[i, w] for i in both] for w in (a, b))
        assert table["n"][row] == len(both)
        for name, weights in (("value", None), ("linear", "linear"), ("quadratic", "quadratic")):
            expected = cohen_kappa_score(one, other, weights=weights, labels=range(4))
            assert table[name][row] == pytest.approx(expected, abs=1e-12)
        matrix = np.zeros((4, 4))
        np.add.at(matrix, (one, other), 1)
        assert table["se"][row] == pytest.approx(cohens_kappa(matrix).std_kappa, abs=1e-12)


def test_both_annotators_constant_have_no_cohen():
    votes = make_votes({"t1": {"a": "x", "b": "x"}, "t2": {"a": "x", "b": "x"}, "t3": {"c": "y"}})
    report = as_json(votes)
    assert report["cohen_kappa"]["pairs"] == [
        {"a": "a", "b": "b", "n": 2, "value": None, "se": None, "linear": None, "quadratic": None}
    ]
    assert report["cohen_kappa"]["mean"] is None


def test_one_constant_annotator_has_a_cohen_of_zero():
    tables = cohen.confusions(
        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]), 2, 2
    )
    assert cohen.cohen(tables)[0].tolist() == [0]
