"""Resamples of patterns against resamples of items, drawn one by one."""

from functools import partial

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_kappa

from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.bootstrap import resampled, weighted_kappas
from annotation.agreement.statistics.kappas import patterns_of
from tests.agreement.conftest import make_counts


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
