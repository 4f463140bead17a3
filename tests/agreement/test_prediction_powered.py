"""People and models together: values of `ppi-python` 0.2.3, and coverage by simulation.

The package needs numba, pandas and gdown, so its values stand here.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from annotation.agreement.statistics.bradley_terry import REGULARISED, bradley_terry, powered
from annotation.agreement.statistics.coefficient import ONE_ITEM
from annotation.agreement.statistics.prediction_powered import (
    ALIKE,
    NO_VOTES,
    Votes,
    confidence_sequence,
    drawn_until,
    learned_spread,
    mean,
    probabilities,
    uncertainty,
)
from benchmarks.coverage import CASES, coverage

SAID = np.array([0, 1, 0, 0, 1, 1, 0, 1, 1, 1.0])
SEEN = np.array([0.1, 0.3, 0.2, 0.1, 0.9, 0.8, 0.3, 0.7, 0.6, 1])


def votes(said=SAID, predicted=None, item=None, rater=None, chance=None):
    item = np.arange(len(said)) if item is None else np.array(item)
    rater = np.zeros(len(said), dtype=int) if rater is None else np.array(rater)
    predicted = np.tile(SEEN, 3) if predicted is None else np.array(predicted, dtype=float)
    return Votes(item, rater, np.array(said, dtype=float), predicted, chance)


def test_lambda_value_and_standard_error_are_those_of_ppi_python():
    estimate = mean(votes(), low=0, high=1)
    # cov = 0.125 and var = 0.1 over the labelled: λ = 1.25 / (1 + 10/20).
    assert estimate.weight == pytest.approx(1.25 / 1.5)
    assert estimate.combined.value == pytest.approx(0.6)
    # Its variance divides by n; here n − 2 are free.
    assert estimate.combined.se == pytest.approx(0.1147461 * (10 / 8) ** 0.5, abs=1e-7)
    assert estimate.people.se == pytest.approx(SAID.std(ddof=1) / 10**0.5)
    assert (estimate.model, estimate.votes, estimate.predicted) == (pytest.approx(0.5), 10, 30)
    gain = (estimate.people.se / estimate.combined.se) ** 2
    assert estimate.effective == pytest.approx(10 * gain)


def test_other_predictions_elsewhere_move_the_value_by_lambda():
    estimate = mean(votes(predicted=np.concatenate([SEEN, SEEN * 0.8, SEEN * 0.6])))
    shift = 0.5 * 0.7 - 0.5
    assert estimate.combined.value == pytest.approx(0.6 + estimate.weight * shift)
    assert 0 < estimate.weight < 1


def test_a_model_that_says_nothing_leaves_the_peoples_interval():
    for predicted in (np.full(30, 0.4), np.full(30, np.nan), 1 - np.tile(SEEN, 3), SEEN):
        estimate = mean(votes(predicted=predicted))
        assert (estimate.combined, estimate.weight) == (estimate.people, 0)
        assert estimate.effective == 10


def test_undefined_quantities_say_why():
    nobody = mean(votes(said=[], predicted=[1, 0]))
    assert (nobody.people.reason, nobody.model, nobody.effective) == (NO_VOTES, 0.5, None)
    assert mean(votes(said=[1, 0], item=[0, 0], predicted=[1, 0])).people.reason == ONE_ITEM
    assert mean(votes(said=[1, 1], predicted=[1, 0, 1])).combined.reason == ALIKE


def test_items_chosen_by_probability_are_weighted_back():
    # Two kinds of items, 1 and 0: ones are chosen twice as often.
    said = np.array([1, 1, 1, 1, 0, 0])
    chance = np.array([0.5] * 4 + [0.25] * 2)
    estimate = mean(votes(said=said, predicted=np.full(6, np.nan), chance=chance))
    # Weights 2 and 4: 8 of 16.
    assert estimate.people.value == pytest.approx(0.5)
    # 6/5 Σ ω² (y − ½)², ω of 1/8 and 1/4.
    variance = 6 / 5 * (4 / 64 + 2 / 16) / 4
    assert estimate.people.se == pytest.approx(variance**0.5)


def test_a_raters_own_level_is_no_certainty():
    # Three raters see every item; each has a level of its own and no noise.
    item, rater = np.divmod(np.arange(120), 3)
    level = np.array([0.0, 1.0, 2.0])
    estimate = mean(votes(said=level[rater], item=item, rater=rater, predicted=np.zeros(40)))
    # All items are alike: what is left is the variance of a mean of three levels, 1/3.
    assert estimate.people.se == pytest.approx((1 / 3) ** 0.5, rel=0.02)
    reach = scipy.special.stdtrit(2, 0.975) * estimate.people.se
    assert estimate.people.high == pytest.approx(1 + reach)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_an_interval_is_never_wider_than_peoples(data):
    items = data.draw(st.integers(2, 30))
    n = data.draw(st.integers(2, 60))
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    item, rater = rng.integers(0, items, n), rng.integers(0, data.draw(st.integers(1, 6)), n)
    predicted = data.draw(st.lists(st.sampled_from([0, 0.5, 1, np.nan]),
                                   min_size=items, max_size=items))  # fmt: skip
    chance = rng.uniform(0.1, 1, items) if data.draw(st.booleans()) else None
    given_ = votes(rng.integers(0, 2, n), predicted, item, rater, chance)
    estimate = mean(given_, low=0, high=1)
    people, combined = estimate.people, estimate.combined
    assert -1e-9 <= estimate.weight <= 1 + 1e-9
    if people.low is not None:
        assert combined.high - combined.low <= 1.02 * (people.high - people.low) + 1e-9
    if people.se is not None:
        assert estimate.effective >= n - 1e-9
        assert combined.se <= people.se + 1e-12


@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_the_true_mean_as_often_as_they_say(case):
    people, combined, ratio = coverage(case, repetitions=200)
    # 200 repetitions at 95 %: 3 standard errors are 4.6 points.
    assert people >= 0.904
    assert combined >= 0.904
    assert ratio <= 0.99 if "good" in case else ratio <= 1


# Strengths


def pairs(seed=5, judged=120, rest=240, right=0.8):
    """Pairs of four models; the judge agrees with a person's vote with probability ``right``."""
    rng = np.random.default_rng(seed)
    n = judged + rest
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    strength = np.array([1, 0.3, -0.2, -1.1])
    won = rng.random(n) < scipy.special.expit(strength[first] - strength[second])
    seen = np.where(rng.random(n) < right, won, ~won).astype(float)
    return first, second, votes(won[:judged], seen), rng


def values(coefficients):
    return [each.value for each in coefficients]


def test_strengths_are_those_of_ppi_pythons_logistic_regression():
    first, second, cast, _rng = pairs()
    fit = powered(first, second, cast, 4)
    assert fit.weight == pytest.approx(0.31497709, abs=1e-8)
    # ppi_logistic_pointestimate with the same lambda, on e_a − e_b.
    expected = [0.94225034, 0.25957171, -0.12383568, -1.07798637]
    assert values(fit.combined) == pytest.approx(expected, abs=1e-7)
    for both, people in zip(fit.combined, fit.people, strict=True):
        assert both.se < people.se


def test_strengths_after_a_weighted_draw_are_those_of_ppi_pythons_weighted_regression():
    first, second, whole, rng = pairs()
    won = rng.random(360) < scipy.special.expit(first - second)
    chance = np.where(np.arange(360) % 2, 0.5, 0.2)
    item = np.flatnonzero(rng.random(360) < chance)
    fit = powered(first, second, votes(won[item], whole.predicted, item, None, chance), 4)
    # Each item alike: people's weighted strengths are those of as many votes as its weight.
    copies = np.repeat(item, np.where(item % 2, 2, 5))
    alone = bradley_terry(first[copies], second[copies], won[copies], 4)
    assert values(fit.people) == pytest.approx(alone.strength)
    equal = powered(first, second, votes(won[item], whole.predicted, item), 4)
    assert values(equal.people) != pytest.approx(values(fit.people), abs=0.01)


def test_without_predictions_strengths_are_bradley_and_terrys():
    first, second, cast, _rng = pairs()
    fit = powered(first, second, replace(cast, predicted=np.full(360, 0.5)), 4)
    n = slice(0, 120)
    alone = bradley_terry(first[n], second[n], cast.value, 4, item=np.arange(120))
    assert values(fit.people) == pytest.approx(alone.strength)
    assert [each.se for each in fit.people] == pytest.approx(alone.se * (120 / 119) ** 0.5)


def test_strengths_from_everything_judged_are_peoples():
    first, second, cast, _rng = pairs(rest=0)
    fit = powered(first, second, cast, 4)
    assert (fit.combined, fit.weight) == (fit.people, 0)


def test_wins_that_connect_nothing_leave_people_alone():
    first, second = np.array([0, 0, 1, 0]), np.array([1, 1, 0, 1])
    fit = powered(first, second, votes([1, 1, 0], np.ones(4)), 2)
    assert fit.combined == fit.people
    # Half a win and half a loss against a virtual opponent each keep them finite.
    assert 0.5 < fit.people[0].value < 5
    assert [each.reason for each in fit.people] == [ALIKE] * 2
    # The third loses always, the first two win by turns.
    first, second = np.array([0, 0, 0, 1]), np.array([1, 1, 2, 2])
    fit = powered(first, second, votes([1, 0, 1, 1], np.ones(4)), 3)
    assert [each.reason for each in fit.people] == [REGULARISED] * 3
    assert fit.people[2].low < fit.people[2].value < fit.people[0].value


def test_one_rater_who_always_takes_a_side_does_not_make_strengths_certain():
    first, second, cast, _rng = pairs(judged=360, rest=0)
    item = np.repeat(np.arange(360), 2)
    rater = np.tile([0, 1], 360)
    # One of two people votes for the model of the lower number whatever it says.
    said = np.where(rater, first[item] < second[item], cast.value[item])
    fit = powered(first, second, votes(said, cast.predicted, item, rater), 4)
    shared = powered(first, second, votes(said, cast.predicted, item), 4)
    assert values(fit.people) == pytest.approx(values(shared.people))
    assert fit.people[0].se > 1.5 * shared.people[0].se


def test_items_that_are_all_alike_bound_the_mean_by_what_others_could_be():
    # 0.95 = (1 − 0.05^(1/10)) turned round: as the exact interval of 10 of 10.
    alike = mean(votes(said=np.ones(10), predicted=np.full(20, np.nan)), low=0, high=1).people
    assert (alike.value, alike.se, alike.high) == (pytest.approx(1), None, pytest.approx(1))
    assert alike.low == pytest.approx(0.05**0.1)
    fours = mean(votes(said=np.full(10, 4), predicted=np.full(20, np.nan)), low=1, high=5).people
    other = 1 - 0.05**0.1
    assert (fours.low, fours.high) == pytest.approx((4 - 3 * other, 4 + other))


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
