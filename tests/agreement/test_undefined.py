"""Where other libraries give NaN, an error or a wrong number: here null with a reason."""

import json
import math

import numpy as np
import pytest
from scipy.special import expit

from annotation.agreement.report import agreement_report, json_pieces
from annotation.agreement.statistics import cohen, correlation, icc, intervals, kappas
from annotation.agreement.statistics.bradley_terry import bradley_terry
from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from annotation.agreement.statistics.side_bias import side_bias
from annotation.agreement.tiers.rules import item_kappa

from .conftest import make_counts, make_votes


def test_one_category_has_no_fleiss_and_no_alpha_but_full_agreement():
    patterns = patterns_of([[9, 0], [9, 0]])
    assert kappas.fleiss_kappa(patterns).reason == "only one category was voted for"
    assert alpha(patterns).reason == "only one category was voted for"
    assert kappas.percent_agreement(patterns).value == 1
    assert kappas.symmetric_kappa(patterns).value == 1


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


def as_json(votes, level="nominal"):
    return json.loads("".join(json_pieces(agreement_report(votes, level))))


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


def test_ratio_level_refuses_negative_numbers_only():
    patterns = patterns_of(make_counts(20, 5, 3))
    assert alpha(patterns, "ratio", [-1, 0, 1]).value is None
    assert alpha(patterns, "ratio", [0, 1, 2]).value is not None


def test_a_model_without_a_win_is_regularised_and_says_so():
    first, second = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 2, 2, 0, 0, 1])
    score = np.array([1.0, 1, 1, 1, 0, 0])
    found = bradley_terry(first, second, score, 3)
    assert found.regularised
    assert found.strength[2] < found.strength[0]
    assert np.all(np.isfinite(found.strength))
    assert found.strength.sum() == pytest.approx(0, abs=1e-9)


def test_a_side_that_decides_every_vote_has_no_strengths():
    first, second = np.array([0, 1, 0, 1]), np.array([1, 0, 1, 0])
    found = bradley_terry(first, second, np.ones(4), 2, order=True)
    assert found.strength is None
    assert found.order.value is None
    assert "first" in found.reason


def test_a_model_against_itself_is_refused():
    with pytest.raises(ValueError, match="itself"):
        bradley_terry(np.array([0]), np.array([0]), np.array([1.0]), 2)


def test_dawid_skene_runs_to_the_maximum_and_its_likelihood_never_falls():
    item, worker = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    category = (np.random.default_rng(1).random(200) < 0.4).astype(int)
    reached = [
        dawid_skene(item, worker, category, (40, 5, 2), most=rounds).log_likelihood
        for rounds in range(1, 60)
    ]
    assert np.all(np.diff(reached) >= -1e-9)


def test_single_votes_are_not_taken_for_perfect_knowledge():
    few = dawid_skene(np.array([0, 0]), np.array([0, 1]), np.array([0, 1]), (1, 2, 2))
    assert few.posterior[0] == pytest.approx([0.5, 0.5])


def test_nothing_counted_has_no_interval_and_constant_scores_no_correlation():
    assert intervals.wilson(0, 0).reason == "nothing was counted"
    assert intervals.clopper_pearson(0, 0).value is None
    constant = np.array([[3, 4]])
    for found in (correlation.spearman(constant), correlation.pearson(constant, [1], [1, 2])):
        assert found.value is None
        assert "does not vary" in found.reason


def test_a_side_chosen_alike_on_every_item_has_no_test():
    found, p = side_bias([0, 0, 1, 1], [1, 1, 1, 1])
    assert found.value is None
    assert p is None


def test_three_fifths_is_exact_where_floats_are_not():
    kappas = [item_kappa((9, 0), 2)] + [item_kappa((8, 1), 2)] * 9
    assert sum(kappas) / 10 * 5 == 3
    assert sum(map(float, kappas)) / 10 != 0.6 or 0.1 + 0.2 != 0.3


def test_the_table_of_two_raters_divides_by_one_less_than_the_items():
    patterns = patterns_of([[2, 0]] * 30 + [[0, 2]] * 40 + [[1, 1]] * 30)
    agreement = np.repeat([1.0, 1.0, 0.0], [30, 40, 30])
    expected = agreement.std(ddof=1) / 10
    assert kappas.percent_agreement(patterns).se == pytest.approx(expected)


def test_labels_that_are_names_of_answers_are_named_as_the_fault():
    with pytest.raises(ValueError, match="must be categories that the tasks share"):
        kappas.count_votes(np.array([0]), np.array([0]), 100_000, 100_000)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_the_pairs_of_annotators_in_json_are_their_columns(level):
    votes = make_votes({"t1": {"a": "1", "b": "2"}, "t2": {"a": "1", 'quo"te é': "1", "b": "2"}})
    report = agreement_report(votes, level)
    rows = json.loads("".join(json_pieces(report)))["cohen_kappa"]["pairs"]
    columns = report["cohen_kappa"]["pairs"].columns
    named = [
        (votes.workers[a], votes.workers[b])
        for a, b in zip(columns["a"], columns["b"], strict=True)
    ]
    assert [(row["a"], row["b"]) for row in rows] == named
    assert sorted(named)[-1] == ("b", 'quo"te é')
    assert [row["n"] for row in rows] == columns["n"].tolist()
    for field in ("value", "se", "linear", "quadratic"):
        numbers = [math.nan] * len(rows) if columns[field] is None else columns[field]
        assert [row[field] for row in rows] == [None if math.isnan(n) else n for n in numbers]


def test_the_order_effect_is_found():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, 4000)
    second = (first + rng.integers(1, 3, 4000)) % 3
    score = (rng.random(4000) < expit(0.5 * (second - first) + 0.8)).astype(float)
    found = bradley_terry(first, second, score, 3, order=True)
    assert found.order.low < 0.8 < found.order.high
    assert np.argmax(found.strength) == 0
