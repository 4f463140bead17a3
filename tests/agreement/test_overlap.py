"""Agreement on passages, by character."""

from math import isnan, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.agreement.statistics.overlap import NO_PAIR, character_f1, mean_f1

A = [("", 0, 10), ("", 20, 30)]


def test_two_people_share_the_characters_that_both_mark_under_one_class():
    assert character_f1(A, A) == 1
    assert character_f1(A, [("", 5, 25)]) == 2 * 10 / 40
    assert character_f1(A, [("", 10, 20)]) == 0
    assert character_f1(A, [("x", 0, 10)]) == 0
    assert character_f1(A, []) == 0
    assert isnan(character_f1([], []))


def test_the_mean_is_over_items_of_pairs_that_mark_something():
    # Of three people one marks nothing: the pairs are 1, 0 and 0.
    first, second = [([A, A], 3)], [([A, A, A], 3), ([], 3)]
    found, pairs = mean_f1([first, second])
    assert (found.value, pairs) == (pytest.approx(2 / 3), 6)
    assert found.se == pytest.approx((2 / 3) / sqrt(2) / sqrt(2))
    assert (found.low, found.high) == (0, 1)
    one, _pairs = mean_f1([first])
    assert (one.value, one.se) == (pytest.approx(1 / 3), None)
    for nobody in ([], [[]], [[([A], 1)]], [[([], 5)]]):
        assert mean_f1(nobody)[0].reason == NO_PAIR
        assert mean_f1(nobody)[1] == 0


spans = st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=5)


@given(spans, spans)
def test_it_is_that_of_sets_of_characters_and_a_clone_of_whoever_marks_has_one(a, b):
    def apart(found):
        taken, marks = set(), []
        for start, length in found:
            if not taken & (here := set(range(start, start + length))):
                taken |= here
                marks.append(("", start, start + length))
        return marks, taken

    (a, in_a), (b, in_b) = apart(a), apart(b)
    if in_a or in_b:
        expected = 2 * len(in_a & in_b) / (len(in_a) + len(in_b))
        assert character_f1(a, b) == character_f1(b, a) == pytest.approx(expected)
    if a:
        assert mean_f1([[([a, a], 2)]])[0].value == 1
