"""The model's maximum, its likelihood, and annotators of few votes."""

import numpy as np
import pytest

from annotation.agreement.statistics.dawid_skene import dawid_skene


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


def test_dawid_skene_runs_to_the_maximum_and_its_likelihood_never_falls():
    item, worker = np.repeat(np.arange(40), 5), np.tile(np.arange(5), 40)
    category = (np.random.default_rng(1).random(200) < 0.4).astype(int)
    reached = [
        dawid_skene(item, worker, category, (40, 5, 2), most=rounds).log_likelihood
        for rounds in range(1, 60)
    ]
    assert np.all(np.diff(reached) >= -1e-9)


def test_single_votes_are_not_taken_for_perfect_knowledge():
    few = dawid_skene(np.array([0, 0]), np.array([0, 1]), np.array([0, 1]), (1, 2, 2))
    assert few.posterior[0] == pytest.approx([0.5, 0.5])
