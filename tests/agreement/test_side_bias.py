"""Whether the side decides votes: over all items, and of each annotator."""

import numpy as np
import pytest

from annotation.agreement.statistics.side_bias import annotator_side_bias, side_bias


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
