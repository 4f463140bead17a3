"""The alternative annotator test, on tables that can be worked out by hand."""

import numpy as np
import pytest

from annotation.agreement.statistics.alternative import (
    TOO_FEW,
    alternative_test,
    benjamini_yekutieli,
)


def panel(items=60, raters=3, wrong=0.2, seed=0):
    """Every rater on every item, who says another label than the truth now and then."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    item, rater = np.divmod(np.arange(items * raters), raters)
    flipped = rng.random(len(item)) < wrong
    return item, rater, np.where(flipped, 1 - truth[item], truth[item]), truth.astype(float)


def test_a_model_that_knows_the_truth_may_stand_for_people():
    item, rater, value, truth = panel()
    test = alternative_test(item, rater, value, truth)
    assert (test.share, test.passed) == (1, True)
    assert test.advantage > 0.8


def test_a_model_that_says_the_opposite_may_not():
    item, rater, value, truth = panel()
    test = alternative_test(item, rater, value, 1 - truth)
    assert (test.share, test.passed) == (0, False)


def test_a_model_like_any_person_passes_by_epsilon_alone():
    # The model repeats a fourth person: as close as everybody.
    like = panel(items=400, raters=4)
    others = like[1] < 3
    model = like[2][like[1] == 3].astype(float)
    votes = (like[0][others], like[1][others], like[2][others])
    assert alternative_test(*votes, model, epsilon=0.2).passed
    assert not alternative_test(*votes, model, epsilon=0.0).passed


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
