"""Position bias, annotator flags, planning, win rates and item bootstraps."""

import math

import numpy as np
import pytest

from annotation.agreement.statistics import correlation, kappas, rater_signs, sample_size
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.side_bias import annotator_side_bias, side_bias

from .conftest import make_counts


def balanced_sides(items, bias, seed):
    """Nine votes an item, sides balanced 5 to 4, items of unequal difficulty."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 9)
    truth_first = np.tile([1, 0] * 4 + [1], items) ^ np.repeat(rng.integers(0, 2, items), 9)
    skill = np.repeat(rng.beta(1, 1, items), 9)
    chance = np.where(truth_first, skill, 1 - skill) + bias
    return item, (rng.random(len(item)) < chance).astype(int)


def test_no_side_bias_is_found_where_there_is_none():
    p = [side_bias(*balanced_sides(300, 0.0, seed))[1] for seed in range(400)]
    assert 0.02 <= np.mean(np.array(p) < 0.05) <= 0.085


def test_a_real_side_bias_is_found():
    found, p = side_bias(*balanced_sides(300, 0.05, seed=1))
    assert p < 0.001
    assert 0.5 < found.low < 0.55 < found.high


def test_the_order_of_votes_does_not_move_the_side_test_by_a_bit():
    item, chose = balanced_sides(50, 0.02, seed=3)
    order = np.random.default_rng(0).permutation(len(item))
    assert side_bias(item, chose) == side_bias(item[order], chose[order])


def test_an_annotator_who_always_takes_the_first_side_is_named():
    rng = np.random.default_rng(0)
    worker = np.repeat(np.arange(10), 40)
    chose = rng.integers(0, 2, 400)
    chose[worker == 3] = 1
    found = annotator_side_bias(worker, chose, 11)
    assert found["first"][3] == found["votes"][3] == 40
    assert np.flatnonzero(found["p_holm"] < 0.05).tolist() == [3]
    assert found["p"][3] == pytest.approx(2 * 0.5**40)
    assert found["p"][10] == 1


def clickers(votes_each, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, votes_each)
    item = np.tile(np.arange(votes_each), 9)
    worker = np.repeat(np.arange(9), votes_each)
    right = rng.random(9 * votes_each) < np.where(worker == 4, 0.5, 0.9)
    return item, worker, np.where(right, truth[item], 1 - truth[item]), (votes_each, 9, 2)


def test_a_random_clicker_is_flagged_from_fifty_votes_on():
    found = rater_signs.agreement_flags(*clickers(120))
    assert np.flatnonzero(found["flagged"]).tolist() == [4]
    assert not rater_signs.agreement_flags(*clickers(49))["flagged"].any()


def test_agreement_is_with_the_others_and_ties_among_them_say_nothing():
    item, worker = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 0])
    category = np.array([0, 0, 1, 0, 1, 0])
    found = rater_signs.agreement_flags(item, worker, category, (3, 3, 2))
    # Task 0: workers 0 and 1 face a tie, worker 2 faces two votes for 0. Task 2 has no others.
    assert found["votes"].tolist() == [1, 1, 1]
    assert found["agreed"].tolist() == [0, 0, 0]
    assert rater_signs.agreement_flags([0], [0], [0], (1, 1, 2))["pool_rate"] is None


def test_speeders_are_found_by_median_and_by_their_last_votes():
    rng = np.random.default_rng(1)
    worker = np.repeat(np.arange(6), 100)
    seconds = np.exp(rng.normal(3, 0.4, 600))
    seconds[worker == 2] /= 20
    late = np.flatnonzero(worker == 5)[-20:]
    seconds[late] /= 20
    kind = np.zeros(600, dtype=int)
    found = rater_signs.speed_flags(worker, seconds, kind, 7)
    assert np.flatnonzero(found["flagged"]).tolist() == [2, 5]
    assert found["fast_share"][5] == pytest.approx(0.4, abs=0.05)
    # Nobody is below the floor: the last votes flag nobody.
    assert not rater_signs.speed_flags(worker, seconds * 1000, kind, 7)["flagged"][5]


def test_times_are_compared_within_a_kind_of_task_only():
    seconds = np.array([10.0, 12, 9, 11, 100, 120, 90, 110])
    z = rater_signs.robust_z(seconds, np.repeat([0, 1], 4))
    assert z[:4] == pytest.approx(z[4:])
    assert np.isnan(rater_signs.robust_z([5.0, 5, 5], [0, 0, 0])).all()


def test_the_same_vector_of_ratings_again_and_again_is_flagged():
    rng = np.random.default_rng(0)
    worker = np.repeat([0, 1, 2], [30, 30, 10])
    ratings = rng.integers(1, 6, (70, 3))
    ratings[30:58] = [3, 3, 3]
    ratings[60:] = [5, 5, 5]
    found = rater_signs.same_vector_flags(worker, ratings, 3)
    assert found["flagged"].tolist() == [False, True, False]
    assert found["share"][1] == pytest.approx(28 / 30, abs=0.04)


def test_items_for_an_interval_on_kappa():
    spread = sample_size.assumed_kappa_spread(0.5, 9, 2)
    assert round(spread, 2) == 0.44
    assert 285 <= sample_size.items_for_kappa(0.05, spread) <= 305
    assert 790 <= sample_size.items_for_kappa(0.03, spread) <= 830


def test_an_assumed_spread_is_that_of_simulated_votes():
    for options, kappa in ((2, 1 / 3), (3, 0.5)):
        a = (1 / kappa - 1) / options
        rng = np.random.default_rng(0)
        counts = rng.multinomial(9, rng.dirichlet(np.full(options, a), 40_000))
        expected = sample_size.kappa_spread(patterns_of(counts))
        assert sample_size.assumed_kappa_spread(kappa, 9, options) == pytest.approx(
            expected, rel=0.02
        )
        assert kappas.symmetric_kappa(patterns_of(counts)).value == pytest.approx(kappa, abs=0.01)


def test_the_plan_gives_the_interval_it_promises():
    counts = make_counts(400, 9, 2)
    patterns = patterns_of(counts)
    items = sample_size.items_for_kappa(0.05, sample_size.kappa_spread(patterns))
    reach = kappas.symmetric_kappa(patterns).se * 1.96 * math.sqrt(400 / items)
    assert reach == pytest.approx(0.05, rel=0.01)


def test_votes_on_one_item_do_not_replace_items():
    assert sample_size.design_effect(9, 0.5) == 5
    assert sample_size.items_for_win_rate(0.05, 1, 0.5) == 385
    assert sample_size.items_for_win_rate(0.05, 9, 0.5) == 214
    assert sample_size.items_for_win_rate(0.05, 9, 1.0) == 385


def test_hours_of_a_plan():
    assert sample_size.workload(100, 9, 40, raters=10) == {
        "items": 100, "judgments": 900, "hours": 10, "hours_each": 1,
    }  # fmt: skip
    with pytest.raises(ValueError, match="9 votes an item need 9 raters"):
        sample_size.workload(100, 9, 40, raters=8)


@pytest.mark.parametrize("wrong", [(0, 9, 2), (1, 9, 2), (0.5, 1, 2), (0.5, 9, 1)])
def test_a_plan_from_impossible_assumptions_is_refused(wrong):
    with pytest.raises(ValueError, match=r"kappa|two votes"):
        sample_size.assumed_kappa_spread(*wrong)
    with pytest.raises(ValueError, match="half-width"):
        sample_size.items_for_kappa(0, 0.4)


def test_a_win_rate_is_a_mean_over_items():
    patterns = patterns_of([[9, 0]] * 50 + [[0, 9]] * 50)
    found = kappas.mean_share(patterns, 0)
    assert found.value == 0.5
    # A hundred independent items, not nine hundred votes.
    assert found.se == pytest.approx(0.5 / math.sqrt(99))


def test_a_bootstrap_keeps_the_scores_of_an_item_together():
    rng = np.random.default_rng(0)
    x = np.repeat(rng.integers(0, 3, 60), 10)
    y = np.repeat(rng.integers(0, 3, 60), 10)
    alone = correlation.item_bootstrap(np.arange(600), x, y, (3, 3), correlation.spearman, 300)
    together = correlation.item_bootstrap(
        np.repeat(np.arange(60), 10), x, y, (3, 3), correlation.spearman, 300
    )
    assert alone.value == together.value
    assert together.se > 2 * alone.se


def test_intervals_of_kappa_cover_as_often_as_they_say():
    covered, a = 0, 0.5
    rng = np.random.default_rng(0)
    for _ in range(300):
        counts = rng.multinomial(9, rng.dirichlet([a, a], 100))
        found = kappas.symmetric_kappa(patterns_of(counts))
        covered += found.low <= 0.5 <= found.high
    assert 0.91 <= covered / 300 <= 0.98
