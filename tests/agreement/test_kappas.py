"""Kappas and alpha: errors by hand, values of other libraries, and resampling of items."""

import itertools
from functools import partial
from math import sqrt

import evalica
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from annotation.agreement.statistics import kappas, krippendorff
from annotation.agreement.statistics.bootstrap import resampled, weighted_kappas
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from tests.agreement.conftest import as_json, long_form, make_counts, make_votes

# Three votes an item: the shares of agreeing pairs are 1, 1/3 and 1.
THREE_ITEMS = kappas.patterns_of([[3, 0], [2, 1], [0, 3]])
# Two votes an item: the votes on two of the four items differ; four votes for either category.
PATTERNS = patterns_of([[2, 0], [1, 1], [1, 1], [0, 2]])


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


def two_annotators():
    """Both say 0 of 20 items and 1 of 15; they differ on 5 and 10."""
    first, second = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [20, 5, 10, 15], axis=0).T
    return kappas.confusion_of_two(first, second, 2)


def test_the_standard_error_is_that_of_fleiss_cohen_and_everitt():
    """Agreement 0.7, chance 0.5; the sums of their formula are 0.10972, 0.10188 and 0.01."""
    (value,), (se,) = kappas.cohen(two_annotators())
    expected = (0.4, sqrt((0.10972 + 0.10188 - 0.01) / (50 * 0.25)))
    assert (value, se) == pytest.approx(expected, rel=1e-12)


def test_the_standard_error_with_weights_of_two_categories_is_the_plain_one():
    (value,), (se,) = kappas.cohen(two_annotators(), np.eye(2))
    assert (value, se) == pytest.approx((0.4, sqrt(0.016128)), rel=1e-12)


@pytest.fixture(scope="module")
def pairs_elsewhere():
    """Votes, and of each pair of annotators what scikit-learn and statsmodels find."""
    codes = long_form(make_counts(150, 9, 4))
    votes = {(i, w): c for i, w, c in zip(*codes, strict=True)}
    rows = []
    for a, b in itertools.combinations(range(20), 2):
        both = [i for i in range(150) if (i, a) in votes and (i, b) in votes]
        if not both:
            continue
        one, other = ([votes[i, w] for i in both] for w in (a, b))
        values = [
            cohen_kappa_score(one, other, weights=weights, labels=range(4))
            for weights in (None, "linear", "quadratic")
        ]
        matrix = np.zeros((4, 4))
        np.add.at(matrix, (one, other), 1)
        rows.append((a, b, len(both), cohens_kappa(matrix).std_kappa, *values))
    return codes, pd.DataFrame(
        rows, columns=["a", "b", "n", "se", "value", "linear", "quadratic"]
    ).to_dict("list")


@pytest.mark.parametrize("workers", [20, 300])
@pytest.mark.parametrize("grouped", [True, False])
def test_cohen_plain_and_weighted_for_all_pairs(pairs_elsewhere, workers, grouped):
    """Of many possible pairs those that occur are sorted, of few all are counted."""
    (item, worker, category), expected = pairs_elsewhere
    order = np.random.default_rng(1).permutation(len(item)) if not grouped else slice(None)
    tables = kappas.confusions(item[order], worker[order], category[order], workers, 4)
    table = kappas.cohen_table(tables, [1, 2, 3, 4])
    for name in ("a", "b", "n"):
        assert list(table[name]) == list(expected[name])
    for name in ("value", "linear", "quadratic", "se"):
        assert table[name] == pytest.approx(np.array(expected[name]), abs=1e-12)


def test_both_annotators_constant_have_no_cohen():
    votes = make_votes({"t1": {"a": "x", "b": "x"}, "t2": {"a": "x", "b": "x"}, "t3": {"c": "y"}})
    report = as_json(votes)
    assert report["cohen_kappa"]["pairs"] == [
        {"a": "a", "b": "b", "n": 2, "value": None, "se": None, "linear": None, "quadratic": None}
    ]
    assert report["cohen_kappa"]["mean"] is None


def test_one_constant_annotator_has_a_cohen_of_zero():
    tables = kappas.confusions(
        np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.array([0, 0, 0, 1]), 2, 2
    )
    assert kappas.cohen(tables)[0].tolist() == [0]


def test_a_category_of_items_with_one_vote_is_none_to_disagree_about():
    found = krippendorff.alpha(patterns_of([[2, 0], [3, 0], [0, 1]]))
    assert (found.value, found.reason) == (None, kappas.ONE_CATEGORY)


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


def drawn_kappas(patterns, resamples):
    return resampled(patterns, partial(weighted_kappas, patterns), resamples)


def test_the_resamples_of_patterns_have_the_law_of_resampled_items():
    counts = make_counts(200, 9, 3)
    ours = drawn_kappas(patterns_of(counts), 1500)["fleiss_kappa"]
    rng = np.random.default_rng(5)
    theirs = [statsmodels_kappa(counts[rng.integers(0, 200, 200)]) for _ in range(1500)]
    assert ours.mean() == pytest.approx(np.mean(theirs), abs=0.002)
    assert ours.std() == pytest.approx(np.std(theirs), rel=0.08)
    assert scipy.stats.ks_2samp(ours, theirs).pvalue > 0.001


def test_the_standard_errors_are_those_of_resampled_items():
    patterns = patterns_of(make_counts(600, 9, 3, missing=0.3))
    drawn = drawn_kappas(patterns, 4000)
    named = {
        "fleiss_kappa": kappas.fleiss_kappa, "gwet_ac1": kappas.gwet_ac1,
        "symmetric_kappa": kappas.symmetric_kappa, "percent_agreement": kappas.percent_agreement,
    }  # fmt: skip
    for name, coefficient in named.items():
        assert coefficient(patterns).se == pytest.approx(drawn[name].std(), rel=0.06)
