"""Signs about single annotators, the model of their errors, and a model in their place."""

import numpy as np
import pytest

from annotation.agreement.statistics import raters as rater_signs
from annotation.agreement.statistics.raters import (
    TOO_FEW,
    alternative_test,
    annotator_side_bias,
    benjamini_yekutieli,
    dawid_skene,
    side_bias,
)


def test_agreement_is_with_the_others_and_ties_among_them_say_nothing():
    item, worker = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 1, 2, 0, 1, 0])
    category = np.array([0, 0, 1, 0, 1, 0])
    votes, agreed, _rate = rater_signs.agreement_with_others(item, worker, category, (3, 3, 2))
    # Task 0: workers 0 and 1 face a tie, worker 2 faces two votes for 0. Task 2 has no others.
    assert (votes.tolist(), agreed.tolist()) == ([1, 1, 1], [0, 0, 0])
    assert rater_signs.agreement_with_others([0], [0], [0], (1, 1, 2))[2] is None


def test_the_pools_rate_is_that_of_all_votes_compared():
    item, worker = np.repeat(np.arange(5), 4), np.tile(np.arange(4), 5)
    found = rater_signs.agreement_with_others(item, worker, (worker == 3).astype(int), (5, 4, 2))
    assert (found[0].tolist(), found[1].tolist(), found[2]) == ([5] * 4, [5, 5, 5, 0], 0.75)


def test_speeders_are_found_by_median_and_by_their_last_votes():
    rng = np.random.default_rng(1)
    worker = np.repeat(np.arange(6), 100)
    seconds = np.exp(rng.normal(3, 0.4, 600))
    seconds[worker == 2] /= 20
    late = np.flatnonzero(worker == 5)[-20:]
    seconds[late] /= 20
    kind = np.zeros(600, dtype=int)
    median_z, fast = rater_signs.speeds(worker, seconds, kind, 7)
    assert np.flatnonzero(median_z < rater_signs.SLOW_Z).tolist() == [2]
    assert np.flatnonzero(fast > rater_signs.FAST_SHARE).tolist() == [2, 5]
    assert fast[5] == pytest.approx(0.4, abs=0.05)
    # Nobody is below the floor.
    assert not rater_signs.speeds(worker, seconds * 1000, kind, 7)[1].any()


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
    share, same = rater_signs.same_vectors(worker, ratings, 3)
    assert same.tolist() == [False, True, False]
    assert share[1] == pytest.approx(28 / 30, abs=0.04)


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


def test_the_likelihood_never_falls_and_the_run_ends_where_more_rounds_change_nothing():
    item, worker = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    category = (np.random.default_rng(1).random(200) < 0.4).astype(int)
    reached = [
        dawid_skene(item, worker, category, (40, 5, 2), most=rounds).log_likelihood
        for rounds in range(1, 60)
    ]
    assert np.all(np.diff(reached) >= -1e-9)
    usual = dawid_skene(item, worker, category, (40, 5, 2))
    _posterior, likelihood = plain_dawid_skene(item, worker, category, (40, 5, 2), 2000)
    assert usual.converged and usual.iterations < 1000
    assert usual.log_likelihood == pytest.approx(likelihood, abs=1e-4)


@pytest.mark.parametrize("votes", [19, 20])
def test_from_twenty_votes_on_an_annotator_needs_no_pseudo_counts(votes):
    item, worker = np.repeat(np.arange(votes), 3), np.tile(np.arange(3), votes)
    category = (np.random.default_rng(2).random(3 * votes) < 0.4).astype(int)
    shape = (votes, 3, 2)
    ours = dawid_skene(item, worker, category, shape, most=5)
    posterior, _likelihood = plain_dawid_skene(item, worker, category, shape, 5)
    assert np.allclose(ours.posterior, posterior, atol=1e-9) is (votes == 20)


def test_single_votes_are_not_taken_for_perfect_knowledge():
    few = dawid_skene(np.array([0, 0]), np.array([0, 1]), np.array([0, 1]), (1, 2, 2))
    assert few.posterior[0] == pytest.approx([0.5, 0.5])


def panel(items=60, raters=3, wrong=0.2, seed=0):
    """Every rater on every item, who says another label than the truth now and then."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    item, rater = np.divmod(np.arange(items * raters), raters)
    flipped = rng.random(len(item)) < wrong
    return item, rater, np.where(flipped, 1 - truth[item], truth[item]), truth.astype(float)


def test_a_model_that_knows_the_truth_may_stand_for_people_and_its_opposite_may_not():
    item, rater, value, truth = panel()
    test = alternative_test(item, rater, value, truth)
    assert (test.share, test.passed) == (1, True)
    assert test.advantage > 0.8
    opposite = alternative_test(item, rater, value, 1 - truth)
    assert (opposite.share, opposite.passed) == (0, False)


def test_a_model_like_any_person_passes_by_epsilon_alone():
    # The model repeats a fourth person: as close as everybody.
    like = panel(items=400, raters=4)
    others = like[1] < 3
    model = like[2][like[1] == 3].astype(float)
    votes = (like[0][others], like[1][others], like[2][others])
    assert alternative_test(*votes, model, epsilon=0.2).passed
    assert not alternative_test(*votes, model, epsilon=0.0).passed


def test_items_that_were_drawn_less_often_count_more():
    # Three people agree; the model is right on the first 30 items and wrong on the others.
    item, rater = np.divmod(np.arange(180), 3)
    right = np.arange(60) < 30
    test = alternative_test(item, rater, np.ones(180), right.astype(float))
    assert test.advantage == pytest.approx(0.5)
    chance = np.where(right, 0.1, 0.9)
    drawn = alternative_test(item, rater, np.ones(180), right.astype(float), chance=chance)
    assert drawn.advantage == pytest.approx(0.9)


def test_closeness_of_scores_is_their_distance():
    item, rater = np.divmod(np.arange(90), 3)
    value = np.full(90, 3)
    value[rater == 2] = 5
    # The model is one point off everybody, a person two off one of the others at least.
    test = alternative_test(item, rater, value, np.full(30, 4.0), numbers=True)
    assert test.replaced.tolist() == [True, True, True]
    # As labels, 4 is no closer to 3 than 5 is: the model agrees with nobody, nor does rater 2.
    labels = alternative_test(item, rater, value, np.full(30, 4.0))
    assert labels.replaced.tolist() == [False, False, True]
    assert labels.share == pytest.approx(1 / 3)


def test_the_test_needs_three_people_with_thirty_items():
    item, rater, value, truth = panel(items=29)
    test = alternative_test(item, rater, value, truth)
    assert (test.share, test.passed, test.reason) == (None, None, TOO_FEW)
    item, rater, value, truth = panel(items=40, raters=2)
    assert alternative_test(item, rater, value, truth).reason == TOO_FEW


def test_items_that_the_model_gave_nothing_for_are_left_out():
    item, rater, value, truth = panel(items=70)
    truth[60:] = np.nan
    kept = item < 60
    for numbers in (False, True):
        whole = alternative_test(item, rater, value, truth, numbers=numbers)
        part = alternative_test(item[kept], rater[kept], value[kept], truth[:60], numbers=numbers)
        assert whole.p_values.tolist() == part.p_values.tolist()
    assert alternative_test(item, rater, value, np.full(70, np.nan)).reason == TOO_FEW


def test_discoveries_are_those_of_benjamini_and_yekutieli():
    # m = 3: Σ 1/j = 11/6, steps 0.00909, 0.01818, 0.02727.
    assert benjamini_yekutieli(np.array([0.02, 0.5, 0.015])).tolist() == [False, False, False]
    assert benjamini_yekutieli(np.array([0.018, 0.5, 0.015])).tolist() == [True, False, True]
