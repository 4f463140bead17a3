"""What holds for every set of votes."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.agreement.report import agreement_report
from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.kappas import patterns_of
from annotation.agreement.statistics.krippendorff import alpha
from annotation.agreement.tiers.rules import tiers_report
from annotation.votes.table import VotesError, votes_from_columns

from .conftest import votes_of

tables = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 6), min_size=k, max_size=k), min_size=2, max_size=12)
)
vote_lists = st.dictionaries(
    st.tuples(st.sampled_from("tuvwxyz"), st.sampled_from("abcde")),
    st.sampled_from(["1", "2", "3.5"]),
    min_size=1,
).map(lambda votes: [(*key, label) for key, label in votes.items()])


@settings(max_examples=60, deadline=None)
@given(rows=vote_lists, seed=st.randoms())
def test_any_order_of_votes_gives_the_same_bits(rows, seed):
    shuffled = seed.sample(rows, len(rows))
    first, second = (agreement_report(votes_of(r), "ratio", resamples=50) for r in (rows, shuffled))
    assert first == second


@settings(max_examples=60, deadline=None)
@given(rows=vote_lists, seed=st.randoms())
def test_any_order_of_timed_votes_gives_the_same_tiers(rows, seed):
    columns = ("task", "worker", "label", "submitted_at")
    timed = [(*row, f"2026-01-01T00:00:{seed.randrange(20):02}Z") for row in rows]
    reports = []
    for order in (timed, seed.sample(timed, len(timed))):
        reports.append(tiers_report(votes_of(order, columns), 3))
    assert reports[0] == reports[1]


@settings(max_examples=100, deadline=None)
@given(counts=tables, seed=st.randoms())
def test_names_of_labels_do_not_matter_at_nominal_level(counts, seed):
    counts = np.array(counts)
    columns = seed.sample(range(counts.shape[1]), counts.shape[1])
    for coefficient in (
        kappas.percent_agreement, kappas.fleiss_kappa, kappas.symmetric_kappa, kappas.gwet_ac1,
        partial(alpha, resamples=0),
    ):  # fmt: skip
        one, other = (coefficient(patterns_of(c)) for c in (counts, counts[:, columns]))
        assert one.value == (None if other.value is None else pytest.approx(other.value, abs=1e-12))
        assert one.reason == other.reason


@settings(max_examples=60, deadline=None)
@given(counts=tables)
def test_symmetric_kappa_is_fleiss_of_all_orders_of_the_options(counts):
    counts = np.array(counts)
    # Equal weight for every vote order needs items with equal numbers of votes or Gwet's shares.
    orders = itertools.permutations(range(counts.shape[1]))
    everything = np.concatenate([counts[:, list(order)] for order in orders])
    symmetric = kappas.symmetric_kappa(patterns_of(counts))
    if symmetric.value is None:
        assert kappas.percent_agreement(patterns_of(counts)).value is None
        return
    fleiss = kappas.fleiss_kappa(patterns_of(everything))
    assert symmetric.value == pytest.approx(fleiss.value, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(counts=tables)
def test_kappas_keep_their_bounds_and_symmetric_is_the_largest_of_two(counts):
    patterns = patterns_of(counts)
    fleiss, symmetric = kappas.fleiss_kappa(patterns), kappas.symmetric_kappa(patterns)
    if symmetric.value is None:
        return
    k = patterns.categories
    assert -1 / (k - 1) - 1e-12 <= symmetric.value <= 1
    assert symmetric.value == pytest.approx(kappas.brennan_prediger(patterns).value, abs=1e-12)
    assert symmetric.low is None or symmetric.low <= symmetric.value <= symmetric.high
    if fleiss.value is not None:
        assert fleiss.value <= symmetric.value + 1e-12
        assert kappas.gwet_ac1(patterns).value >= symmetric.value - 1e-12


@settings(max_examples=60, deadline=None)
@given(counts=tables)
def test_all_levels_are_one_on_two_categories_zero_and_one(counts):
    counts = np.array(counts)[:, :2]
    levels = [alpha(patterns_of(counts), level, [0, 1], resamples=0) for level in kappas.LEVELS]
    if levels[0].value is None:
        return
    for level in levels[1:]:
        assert level.value == pytest.approx(levels[0].value, abs=1e-9)


def test_items_of_one_vote_enter_the_shares_and_the_error_only():
    patterns = patterns_of([[2, 0], [1, 1], [0, 2], [1, 0], [1, 0]])
    assert kappas.percent_agreement(patterns).value == pytest.approx(2 / 3)
    share = (1 + 0.5 + 0 + 1 + 1) / 5
    chance = share**2 + (1 - share) ** 2
    assert kappas.fleiss_kappa(patterns).value == pytest.approx((2 / 3 - chance) / (1 - chance))


def test_codes_of_any_width_and_any_grouping_give_the_same_counts():
    item, category = np.array([2, 0, 1, 2]), np.array([1, 0, 1, 1])
    for kind in (np.int8, np.int16, np.int32, np.int64):
        found = kappas.count_votes(item.astype(kind), category.astype(np.int8), 3, 2)
        assert found.tolist() == [[1, 0], [0, 1], [0, 2]]


def test_more_categories_than_a_key_can_hold_are_grouped_too():
    counts = np.zeros((3, 80), dtype=int)
    counts[0, 0] = counts[1, 0] = counts[2, 79] = 7
    patterns = patterns_of(counts)
    assert sorted(patterns.weight.tolist()) == [1, 2]
    assert patterns.totals[[0, 79]].tolist() == [14, 7]


@settings(max_examples=100, deadline=None)
@given(
    texts=st.integers(1, 9).flatmap(
        lambda width: st.lists(
            st.text("ab é", min_size=width, max_size=width).filter(str.strip), min_size=1
        )
    ),
    copies=st.integers(1, 6),
)
def test_names_come_in_order_and_codes_lead_to_them_whatever_their_width(texts, copies):
    labels = [text for text in texts for _ in range(copies)]
    workers = [f"w{n}" for n in range(len(labels))]
    votes = votes_from_columns({"task": ["t"] * len(labels), "worker": workers, "label": labels})
    assert [votes.labels[code] for code in votes.label] == [text.strip() for text in labels]
    assert list(votes.labels) == sorted({text.strip() for text in texts})


@settings(max_examples=100, deadline=None)
@given(rows=st.lists(st.tuples(st.sampled_from("tuv"), st.sampled_from("abcd")), min_size=1))
def test_a_second_vote_is_found_wherever_it_stands(rows):
    columns = dict(zip(("task", "worker"), zip(*rows, strict=True), strict=True))
    columns = {name: list(column) for name, column in columns.items()} | {
        "label": ["x"] * len(rows)
    }
    if len(set(rows)) == len(rows):
        assert len(votes_from_columns(columns)) == len(rows)
        return
    second = next(n for n, row in enumerate(rows) if row in rows[:n])
    with pytest.raises(
        VotesError, match=f"^vote {second}: .* before .vote {rows.index(rows[second])}"
    ):
        votes_from_columns(columns)
