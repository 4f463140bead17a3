"""Accuracies, their intervals and differences, against published rows and simulation."""

import numpy as np
import pytest
from hypothesis import given, strategies

from annotation.evaluation import metrics


def test_pairs_of_one_item_widen_the_interval():
    score = np.tile([1.0, 1.0, 0.0, 0.0], 25)
    alone = metrics.accuracy(score, np.arange(100))
    doubled = metrics.accuracy(score, np.arange(100) // 2)
    assert alone.value == doubled.value == 50
    assert (doubled.high - doubled.low) / (alone.high - alone.low) == pytest.approx(2**0.5, 0.02)


def test_the_interval_has_the_factor_of_few_items():
    """Two pairs an item; the items' sums are 4 times 0.8, 0.8, -0.2, -0.2 and -1.2 from the mean:
    their squares 11.2, the factor 20/19, and 2.093024 the quantile of t with 19 degrees.
    """
    score = np.tile([1.0, 1, 1, 1, 1, 0, 1, 0, 0, 0], 4)
    found = metrics.accuracy(score, np.repeat(np.arange(20), 2))
    reach = 100 * 2.0930240544 * (11.2 * 20 / 19) ** 0.5 / 40
    limits = (60, 60 - reach, 60 + reach)
    assert (found.value, found.low, found.high) == pytest.approx(limits, rel=1e-9)


def test_nothing_that_varies_has_wilsons_interval():
    whole = metrics.accuracy(np.ones(10), np.arange(10))
    assert (whole.value, whole.high) == (100, 100)
    assert whole.low == pytest.approx(72.25, abs=0.01)
    assert metrics.accuracy(np.zeros(0), np.zeros(0)).value is None


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        right = np.repeat(rng.random(60) < 0.7, 2).astype(float)
        interval = metrics.accuracy(right, np.repeat(np.arange(60), 2))
        covered += interval.low <= 70 <= interval.high
    assert 0.92 <= covered / 400 <= 0.98


def test_accuracy_at_equal_length_takes_a_taste_for_length_out():
    rng = np.random.default_rng(2)
    longer = rng.normal(0.5, 1, 4000)
    score = (longer > 0).astype(float)  # chooses the longer answer and knows nothing
    assert metrics.accuracy(score, np.arange(4000)).value > 65
    assert metrics.controlled(score, longer, np.arange(4000)).value == pytest.approx(50, abs=6)
    fair = (rng.random(4000) < 0.8).astype(float)
    controlled = metrics.controlled(fair, longer, np.arange(4000))
    assert controlled.value == pytest.approx(80, abs=2)
    assert controlled.low < 80 < controlled.high


def test_without_pairs_near_equal_length_it_cannot_be_told():
    """A judge that follows length alone, where nearly every chosen answer is the longer one."""
    rng = np.random.default_rng(8)
    longer = np.where(rng.random(1000) < 0.9, 1, -1) * rng.uniform(0.3, 1.5, 1000)
    score, item = (longer > 0).astype(float), np.arange(1000)
    assert metrics.accuracy(score, item).value == pytest.approx(90, abs=5)
    far = metrics.controlled(score, longer, item)
    assert (far.n, far.value, far.low, far.high) == (1000, None, None, None)
    assert far.as_json()["reason"] == metrics.FAR
    # Ten pairs that differ by a tenth are enough, nine are not; two halves of them show the taste.
    near = np.resize([metrics.NEAR, -metrics.NEAR], 10)
    longer[:10], score[:10] = near, (near > 0)
    told = metrics.controlled(score, longer, item)
    assert told.low < 50 < told.high
    assert told.reason == "" and "reason" not in told.as_json()
    longer[0] = 0.3
    assert metrics.controlled(score, longer, item).value is None
    # Also where a model is always right, or all pairs differ alike.
    assert metrics.controlled(np.ones(50), np.full(50, 0.3), np.arange(50)).value is None
    assert metrics.controlled(np.ones(50), np.zeros(50), np.arange(50)).value == 100


def test_models_that_differ_by_chance_share_a_rank():
    rng = np.random.default_rng(3)
    base = rng.random(500)
    scores = np.array([base < 0.9, base < 0.6, (base < 0.59), base < 0.2], dtype=float)
    table = metrics.differences(scores, np.arange(500))
    assert table[0][1].value == pytest.approx(100 * (scores[0] - scores[1]).mean())
    assert table[1][0].value == -table[0][1].value
    assert table[0][1].low > 0
    small = metrics.differences(scores[:, :20], np.arange(20))
    assert metrics.ranks(table)[0] == 1
    assert metrics.ranks(table)[3] == 4
    assert metrics.ranks(small)[1] == metrics.ranks(small)[2]


def test_rows_without_common_pairs_have_no_difference():
    nan = np.nan
    table = metrics.differences(np.array([[1, nan], [nan, 0.0]]), np.arange(2))
    assert (table[0][1].n, table[0][1].value) == (0, None)
    assert metrics.ranks(table) == [1, 1]


@given(strategies.lists(strategies.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40))
def test_an_interval_holds_its_value_and_stays_between_0_and_100(values):
    score, item = np.array(values), np.arange(len(values))
    near = np.concatenate([np.zeros(10), item % 3])
    more, items = np.concatenate([np.ones(10), score]), np.arange(len(near))
    for interval in (metrics.accuracy(score, item), metrics.controlled(more, near, items)):
        assert 0 <= interval.low <= interval.value + 1e-9
        assert interval.value - 1e-9 <= interval.high <= 100
