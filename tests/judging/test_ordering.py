"""Order and pairing: balanced within every item, seeded, and telling nothing."""

import itertools
from collections import Counter
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from annotation.judging import ordering


@given(st.uuids(), st.sampled_from([2, 3]), st.integers(1, 40))
def test_places_differ_by_at_most_one_within_an_item(item, options, overlap):
    orders = [ordering.shown_order(item, n, options) for n in range(overlap)]
    for place in range(options):
        seen = Counter(order[place] for order in orders)
        counts = [seen[option] for option in range(1, options + 1)]
        assert max(counts) - min(counts) <= 1


def test_the_orders_of_an_open_item_are_those_of_every_version():
    # Another order after an upgrade would show people answers elsewhere than they were.
    orders = [ordering.shown_order(UUID(int=7), n, 3) for n in range(1, 7)]
    assert orders == [(1, 3, 2), (3, 2, 1), (1, 2, 3), (2, 3, 1), (3, 1, 2), (2, 1, 3)]


@given(st.uuids(), st.integers(0, 30), st.sampled_from([2, 3]))
def test_an_order_is_a_permutation_and_stays_the_same(item, ordinal, options):
    order = ordering.shown_order(item, ordinal, options)
    assert sorted(order) == list(range(1, options + 1))
    assert ordering.shown_order(item, ordinal, options) == order


@pytest.mark.parametrize("options", [2, 3])
def test_the_place_of_an_answer_on_the_page_tells_nothing(options):
    """Chi-square over many items: every order equally often, also for the first slot alone."""
    items = [uuid4() for _ in range(1200)]
    orders = list(itertools.permutations(range(1, options + 1)))
    for ordinals in ([0], range(9)):
        seen = Counter(ordering.shown_order(item, n, options) for item in items for n in ordinals)
        # Nine slots of one item are balanced, so the counts are closer than chance, never further.
        assert chisquare([seen[order] for order in orders]).pvalue > 1e-4


def test_the_order_in_which_answers_were_made_does_not_decide_their_numbers():
    made = ["A1", "A2", "A3"]
    first = Counter(ordering.triple(made, made, f"task/{n}")[0] for n in range(900))
    assert chisquare([first[one] for one in made]).pvalue > 1e-4
    left = Counter(ordering.pairs(made, made, 1, f"task/{n}")[0][0] for n in range(900))
    assert chisquare([left[one] for one in made]).pvalue > 1e-4


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
