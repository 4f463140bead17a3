"""Signs that somebody does not read: disagreement, speed, and the same ratings again and again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement.statistics import rater_signs
from annotation.agreement.statistics.rater_signs import annotator_side_bias, side_bias


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


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=30))
def test_a_clone_of_a_rater_ties_with_that_rater(labels):
    """Rater 1 says what rater 0 says, rater 2 something else: the others of both are alike."""
    item = np.repeat(np.arange(len(labels)), 3)
    worker = np.tile([0, 1, 2], len(labels))
    category = np.array([[first, first, other] for first, other in labels]).ravel()
    found = rater_signs.agreement_flags(item, worker, category, (len(labels), 3, 3))
    for figure in ("votes", "agreed", "p", "flagged"):
        assert found[figure][0] == found[figure][1]


def test_the_standard_error_over_items():
    """Votes for the first side less those for the second are 2, 0 and 2 of three items."""
    found, p = side_bias([0, 0, 1, 1, 2, 2], [1, 1, 1, 0, 1, 1])
    assert (found.value, found.se) == pytest.approx((5 / 6, 1 / 6), rel=1e-12)
    assert p == pytest.approx(0.0455003, abs=1e-7)


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


def test_a_side_chosen_alike_on_every_item_has_no_test():
    found, p = side_bias([0, 0, 1, 1], [1, 1, 1, 1])
    assert found.value is None
    assert p is None
