"""Order and pairing: balanced within every item, seeded, and telling nothing."""

from collections import Counter
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.judging import ordering


@given(st.uuids(), st.sampled_from([2, 3]), st.integers(1, 40))
def test_places_differ_by_at_most_one_within_an_item(item, options, overlap):
    orders = [ordering.shown_order(item, n, options) for n in range(overlap)]
    for place in range(options):
        seen = Counter(order[place] for order in orders)
        counts = [seen[option] for option in range(1, options + 1)]
        assert max(counts) - min(counts) <= 1


@given(st.uuids(), st.integers(0, 30), st.sampled_from([2, 3]))
def test_an_order_is_a_permutation_and_stays_the_same(item, ordinal, options):
    order = ordering.shown_order(item, ordinal, options)
    assert sorted(order) == list(range(1, options + 1))
    assert ordering.shown_order(item, ordinal, options) == order


@pytest.mark.parametrize("options", [2, 3])
def test_first_slots_of_many_items_show_every_answer_first_equally_often(options):
    first = Counter(ordering.shown_order(uuid4(), 0, options)[0] for _ in range(6000))
    expected = 6000 / options
    chi_square = sum((first[o] - expected) ** 2 / expected for o in range(1, options + 1))
    assert chi_square < 20  # 1 in 20,000 for two degrees of freedom


def test_three_answers_follow_each_other_in_both_senses():
    orders = {ordering.shown_order(uuid4(), 0, 3) for _ in range(500)}
    assert len(orders) == 6


@given(st.lists(st.uuids().map(str), min_size=2, max_size=6, unique=True), st.integers(1, 20))
def test_pairs_are_distinct_and_seeded(ids, count):
    texts = [f"answer {i}" for i in ids]
    drawn = ordering.pairs(ids, texts, count, "seed")
    assert drawn == ordering.pairs(ids, texts, count, "seed")
    assert len({frozenset(pair) for pair in drawn}) == len(drawn)
    assert len(drawn) == min(count, len(ids) * (len(ids) - 1) // 2)


def test_equal_answers_are_never_compared():
    assert ordering.pairs(["a", "b"], ["same", " same "], 5, "s") == []
    assert ordering.triple(["a", "b", "c"], ["x", "y", "y"], "s") is None
    assert sorted(ordering.triple(["a", "b", "c"], ["x", "y", "z"], "s")) == ["a", "b", "c"]
