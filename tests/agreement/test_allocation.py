"""Which items are drawn for votes, and intervals that one may look at after every vote."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from annotation.agreement.statistics.allocation import (
    confidence_sequence,
    drawn_until,
    learned_spread,
    probabilities,
    uncertainty,
)
from annotation.agreement.statistics.prediction_powered import Votes, mean


def test_uncertainty_is_the_deviation_of_the_label_that_is_least_sure():
    shares = np.array([[0.5, 0.5], [0.9, 0.1], [1.0, 0.0], [0.6, 0.3]])
    assert uncertainty(shares) == pytest.approx([0.5, 0.3, 0.0, np.sqrt(0.24)])


def test_the_spread_is_learned_from_how_far_people_lay_from_the_model():
    doubt, judged = np.array([0.0, 0.1, 0.2, 0.4]), np.array([0, 1, 2])
    found = learned_spread(doubt, np.sqrt(0.04 + 3 * doubt[judged] ** 2), judged)
    assert found == pytest.approx(np.sqrt(0.04 + 3 * doubt**2))


def test_before_anybody_voted_doubt_has_a_part_beside_equality():
    nobody = np.zeros(0, dtype=int)
    found = learned_spread(np.array([0.0, 0.5]), np.zeros(0), nobody)
    assert found == pytest.approx([np.sqrt(3 / 8), np.sqrt(5 / 8)])


def test_doubt_that_tells_nothing_or_the_opposite_leaves_all_items_alike():
    doubt, judged = np.array([0.0, 0.1, 0.2, 0.4]), np.array([0, 1, 2])
    assert learned_spread(doubt, np.array([0.3, -0.3, 0.3]), judged) == pytest.approx([0.3] * 4)
    found = learned_spread(doubt, np.array([0.5, 0.3, 0.1]), judged)
    assert found == pytest.approx([np.sqrt((0.25 + 0.09 + 0.01) / 3)] * 4)


def test_uncertain_items_are_drawn_more_often_and_sure_ones_by_the_floor():
    # b = 2 of N = 4: 0.8 · 2 · s/Σs + 0.2 · 2/4.
    found = probabilities(np.array([0.4, 0.3, 0.3, 0.0]), 2, floor=0.2)
    assert found == pytest.approx([0.74, 0.58, 0.58, 0.1])


def test_what_would_be_above_one_is_drawn_for_sure_and_the_rest_shared():
    found = probabilities(np.array([8.0, 1.0, 1.0]), 2, floor=0.3)
    assert found == pytest.approx([1.0, 0.5, 0.5])


def test_equal_spreads_and_none_are_drawn_equally():
    assert probabilities(np.zeros(4), 1) == pytest.approx([0.25] * 4)
    assert probabilities(np.ones(3), 3).tolist() == [1.0, 1.0, 1.0]
    assert probabilities(np.ones(3), 7).tolist() == [1.0, 1.0, 1.0]


@given(
    arrays(float, st.integers(1, 30), elements=st.floats(0, 1)),
    st.floats(0.01, 0.99),
    st.floats(0.05, 1),
)
def test_as_many_are_expected_as_are_wanted_and_none_below_its_even_part(spread, part, floor):
    items = part * len(spread)
    found = probabilities(spread, items, floor)
    assert found.sum() == pytest.approx(items)
    assert (found <= 1).all()
    assert (found >= min(1.0, floor * items / len(spread)) - 1e-9).all()


def test_two_rounds_add_up_as_independent_draws():
    assert drawn_until(np.array([0.5, 0.0]), np.array([0.2, 0.3])) == pytest.approx([0.6, 0.3])


def test_items_drawn_by_probability_give_an_unbiased_mean():
    rng = np.random.default_rng(3)
    truth = (rng.random(400) < 0.3).astype(float)
    predicted = np.where(truth == 1, 0.7, 0.25)
    chance = probabilities(np.sqrt(predicted * (1 - predicted)), 120)
    found = []
    for _ in range(300):
        item = np.flatnonzero(rng.random(400) < chance)
        votes = Votes(item, np.arange(len(item)), truth[item], predicted, chance)
        found.append(mean(votes, low=0, high=1).combined.value)
    assert np.mean(found) == pytest.approx(truth.mean(), abs=0.004)


def test_the_first_ends_of_a_sequence_are_those_of_the_formula():
    # One value of 0.5: bet = min(√(2 log 40 / (¼ log 2)), ½) = ½, no loss, width = log 40 / ½.
    low, high = confidence_sequence(np.array([0.5]))
    assert (low.tolist(), high.tolist()) == ([0.0], [1.0])
    # Of 200 equal values only the reach is left: log 40 / Σ bets.
    low, high = confidence_sequence(np.full(200, 0.5))
    count = np.arange(1, 201)
    variance = np.concatenate([[0.25], 0.25 / (count + 1)])[:200]
    bets = np.minimum(np.sqrt(2 * np.log(40) / (variance * count * np.log(count + 1))), 0.5)
    assert high[-1] - 0.5 == pytest.approx(np.log(40) / bets.sum())
    assert 0.5 - low[-1] == pytest.approx(np.log(40) / bets.sum())


def test_the_ends_keep_to_the_scale_and_never_come_apart():
    values = np.tile([1.0, 5.0, 3.0], 40)
    low, high = confidence_sequence(values, 1, 5)
    assert (np.diff(low) >= 0).all() and (np.diff(high) <= 0).all()
    assert 1 <= low[-1] < 3 < high[-1] <= 5


def test_looking_after_every_vote_misses_the_mean_less_often_than_one_time_in_twenty():
    rng = np.random.default_rng(1)
    missed = 0
    for _ in range(400):
        low, high = confidence_sequence((rng.random(300) < 0.3).astype(float))
        missed += not ((low <= 0.3) & (high >= 0.3)).all()
    assert missed <= 20
