"""The same numbers from other people's libraries, or from a plain loop over the formula."""

import itertools
from functools import partial

import choix
import evalica
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy.special import expit
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from annotation.agreement.statistics import cohen, correlation, intervals, kappas
from annotation.agreement.statistics.bootstrap import resampled, weighted_kappas
from annotation.agreement.statistics.bradley_terry import bradley_terry
from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha

from .conftest import make_counts


def long_form(counts, seed=0):
    """Item, worker and category codes of random annotators that give these counts."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    category = np.concatenate([np.repeat(np.arange(counts.shape[1]), row) for row in counts])
    worker = np.concatenate([rng.permutation(20)[:n] for n in counts.sum(axis=1)])
    return item, worker, category


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


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_alpha_with_missing_votes(level):
    counts = make_counts(300, 6, 5, missing=0.2)
    item, worker, category = long_form(counts)
    table = pd.DataFrame({"i": item, "w": worker, "c": category + 1.0})
    table = table.pivot(index="w", columns="i", values="c")
    ours = alpha(patterns_of(counts), level, [1, 2, 3, 4, 5], resamples=0)
    assert ours.value == pytest.approx(evalica.alpha(table, level).alpha, abs=1e-12)


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


@pytest.mark.parametrize("cells", [cohen.FULL_CELLS, 0])
@pytest.mark.parametrize("grouped", [True, False])
def test_cohen_plain_and_weighted_for_all_pairs(monkeypatch, cells, grouped):
    monkeypatch.setattr(cohen, "FULL_CELLS", cells)
    monkeypatch.setattr(cohen, "KEYS_AT_ONCE", 500)
    item, worker, category = long_form(make_counts(150, 9, 4))
    order = np.random.default_rng(1).permutation(len(item)) if not grouped else slice(None)
    tables = cohen.confusions(item[order], worker[order], category[order], 20, 4)
    assert isinstance(tables, cohen.Full if cells else cohen.Sparse)
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


def test_correlations_and_their_p_values():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 5, 500)
    y = np.clip(x + rng.integers(-2, 3, 500), 0, 4)
    table = correlation.contingency(x, y, 5, 5)
    values = np.arange(5)
    named = (
        (correlation.pearson(table, values, values), scipy.stats.pearsonr(x, y)),
        (correlation.spearman(table), scipy.stats.spearmanr(x, y)),
    )
    for ours, theirs in named:
        assert ours.value == pytest.approx(theirs.statistic, abs=1e-13)
        assert ours.p == pytest.approx(theirs.pvalue, rel=1e-8)


def test_intervals_and_exact_tests():
    for successes, trials in ((0, 7), (3, 7), (7, 7), (412, 1000)):
        for ours, method in ((intervals.wilson, "wilson"), (intervals.clopper_pearson, "beta")):
            found = ours(successes, trials)
            low, high = proportion_confint(successes, trials, method=method)
            assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
        expected = scipy.stats.binomtest(successes, trials).pvalue
        assert intervals.coin_test(successes, trials) == pytest.approx(expected, abs=1e-12)
    p = [0.03, 0.001, 0.2, 0.04]
    assert intervals.holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def duels(models=6, votes=2000, order=0.0, seed=0):
    rng = np.random.default_rng(seed)
    strength = np.linspace(-1, 1, models)
    first, shift = rng.integers(0, models, votes), rng.integers(1, models, votes)
    second = (first + shift) % models
    chance = expit(strength[first] - strength[second] + order)
    return first, second, (rng.random(votes) < chance).astype(float)


def test_bradley_terry_strengths():
    first, second, score = duels()
    ours = bradley_terry(first, second, score, 6)
    winners = np.where(score == 1, first, second)
    losers = np.where(score == 1, second, first)
    theirs = choix.opt_pairwise(6, list(zip(winners, losers, strict=True)))
    assert ours.strength == pytest.approx(theirs - theirs.mean(), abs=1e-5)
    outcomes = [evalica.Winner.X if won else evalica.Winner.Y for won in score]
    scores = np.log(
        evalica.bradley_terry(first, second, outcomes, tolerance=1e-12, limit=10000).scores
    ).sort_index()
    assert ours.strength == pytest.approx(scores - scores.mean(), abs=1e-6)
    assert not ours.regularised


def test_bradley_terry_interval_over_items_is_the_sandwich_of_the_formula():
    first, second, score = duels(models=4, votes=300, order=0.4)
    item = np.arange(300) // 3
    ours = bradley_terry(first, second, score, 4, item=item, order=True)
    at = np.append(ours.strength, ours.order.value)
    rows = np.zeros((300, 5))
    rows[np.arange(300), first] += 1
    rows[np.arange(300), second] -= 1
    rows[:, 4] = 1
    chance = expit(rows @ at)
    assert rows.T @ (score - chance) == pytest.approx(0, abs=1e-8)
    bread = np.linalg.pinv((rows.T * (chance * (1 - chance))) @ rows)
    parts = rows * (score - chance)[:, None]
    meat = sum(np.outer(g, g) for g in (parts[item == i].sum(axis=0) for i in range(100)))
    expected = np.sqrt(np.diag(bread @ meat @ bread))
    assert [*ours.se, ours.order.se] == pytest.approx(expected, rel=1e-8)


def plain_dawid_skene(item, worker, category, shape, rounds):
    """The algorithm of the 1979 paper, loop by loop."""
    given = np.zeros(shape)
    given[item, worker, category] = 1
    posterior = given.sum(axis=1) / given.sum(axis=(1, 2))[:, None]
    for _ in range(rounds):
        prior = posterior.mean(axis=0)
        error = np.einsum("iwl,ij->wlj", given, posterior)
        error /= error.sum(axis=1, keepdims=True)
        joint = prior * np.exp(np.einsum("iwl,wlj->ij", given, np.log(error + 1e-300)))
        posterior = joint / joint.sum(axis=1, keepdims=True)
    return posterior, np.log(joint.sum(axis=1)).sum()


def test_dawid_skene_reaches_the_maximum_of_the_plain_algorithm():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 300)
    item, worker = np.repeat(np.arange(300), 8), np.tile(np.arange(8), 300)
    skill = np.linspace(0.3, 0.95, 8)
    right = rng.random(2400) < skill[worker]
    category = np.where(right, truth[item], rng.integers(0, 3, 2400))
    ours = dawid_skene(item, worker, category, (300, 8, 3), tolerance=1e-13)
    posterior, likelihood = plain_dawid_skene(item, worker, category, (300, 8, 3), ours.iterations)
    assert ours.converged
    assert ours.posterior == pytest.approx(posterior, abs=1e-9)
    assert ours.log_likelihood == pytest.approx(likelihood, abs=1e-6)
    assert (ours.posterior.argmax(axis=1) == truth).mean() > 0.85
