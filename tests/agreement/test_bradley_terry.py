"""Strengths and their standard errors: by hand, from other libraries, and where there are none."""

from math import log, sqrt

import choix
import evalica
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from annotation.agreement.statistics.bradley_terry import bradley_terry

FIRST, SECOND = np.zeros(4, int), np.ones(4, int)
# Model 0 wins three of four: chance 3/4, information 4 · 3/4 · 1/4 on the difference.
SCORE = [1, 1, 1, 0]


def test_the_standard_error_of_independent_votes_is_fishers():
    fit = bradley_terry(FIRST, SECOND, SCORE, 2)
    assert fit.strength == pytest.approx([log(3) / 2, -log(3) / 2], rel=1e-9)
    assert fit.se == pytest.approx([sqrt(1 / 3)] * 2, rel=1e-9)


def test_the_standard_error_over_items_is_the_sandwich():
    """The residuals' sums of the two items are 1/2 and -1/2."""
    fit = bradley_terry(FIRST, SECOND, SCORE, 2, item=np.array([0, 0, 1, 1]))
    assert fit.se == pytest.approx([sqrt(2) / 3] * 2, rel=1e-9)


def test_the_standard_error_of_the_side_shown_first():
    """Shown first, model 0 wins 3 of 4 and model 1 one of 2: the logits log 3 and 0, their
    variances 4/3 and 2; the order effect is their mean, the strengths half of half the difference.
    """
    first, second = np.array([0, 0, 0, 0, 1, 1]), np.array([1, 1, 1, 1, 0, 0])
    fit = bradley_terry(first, second, [*SCORE, 1, 0], 2, order=True)
    order = (fit.order.value, fit.order.se)
    assert order == pytest.approx((log(3) / 2, sqrt(5 / 6)), rel=1e-9)
    assert fit.se == pytest.approx([sqrt(5 / 24)] * 2, rel=1e-9)


def test_a_virtual_opponent_enters_the_standard_error():
    """Two models that were never compared have half a win and half a loss each, and no order."""
    none = np.array([], int)
    fit = bradley_terry(none, none, [], 2)
    assert fit.regularised
    # Information 1/4 of each; centred, half of the difference's variance 8 halves again.
    assert fit.se == pytest.approx([sqrt(2)] * 2, rel=1e-9)


def test_a_virtual_opponent_gives_half_a_win_and_half_a_loss():
    """Model 0 wins three of three: 3 (1 - σ(2θ)) + ½ - σ(θ) is 0 at its strength θ."""
    fit = bradley_terry(FIRST[:3], SECOND[:3], [1, 1, 1], 2)
    at = brentq(lambda theta: 3 * (1 - expit(2 * theta)) + 0.5 - expit(theta), 0, 10)
    assert fit.strength == pytest.approx([at, -at], rel=1e-8)


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
