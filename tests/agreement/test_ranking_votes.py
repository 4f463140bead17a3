"""Agreement of rankings: Kendall's W against scipy, and the page of a task's results."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, spearmanr

from annotation.agreement import recompute
from annotation.agreement.board import Board
from annotation.agreement.figures import figure_of
from annotation.agreement.statistics.correlation import concordance, mean_over_items
from annotation.core.errors import DomainError
from annotation.judging.kinds import kind_of
from annotation.votes import stored
from annotation.votes.table import VotesError
from tests import everykind


@given(st.lists(st.lists(st.integers(1, 4), min_size=4, max_size=4), min_size=3, max_size=6))
def test_w_is_friedmans_statistic_over_its_greatest_value(rows):
    # W = chi² / (m (n - 1)), with the same correction for ties; scipy computes chi².
    table = np.array(rows)
    if all(len(set(row)) == 1 for row in rows):
        assert np.isnan(concordance(table))
    else:
        chi2 = friedmanchisquare(*table.T).statistic
        assert concordance(table) == pytest.approx(chi2 / (len(rows) * 3), abs=1e-12)


def test_w_is_one_where_all_agree_also_with_equal_places():
    assert concordance(np.array([[1, 2, 3], [1, 2, 3]])) == 1
    assert concordance(np.array([[1, 2, 2], [1, 2, 2]])) == pytest.approx(1)


@pytest.mark.parametrize("table", [[[1, 2, 3]], [[1, 1, 1], [1, 1, 1]], [[1], [1]]])
def test_w_needs_two_raters_and_an_order(table):
    assert np.isnan(concordance(np.array(table)))


@given(st.lists(st.permutations(range(1, 6)), min_size=2, max_size=5))
def test_without_ties_w_gives_the_mean_of_all_pairwise_spearman_correlations(orders):
    table, m = np.array(orders), len(orders)
    pairs = [spearmanr(table[a], table[b]).statistic for a in range(m) for b in range(a)]
    assert (m * concordance(table) - 1) / (m - 1) == pytest.approx(np.mean(pairs), abs=1e-12)


def test_the_mean_over_items_has_an_interval_from_two_items_on():
    assert mean_over_items([float("nan")], floor=0.0).value is None
    one = mean_over_items([0.5], floor=0.0)
    assert (one.value, one.low) == (0.5, None)
    two = mean_over_items([0.4, 0.6, float("nan")], floor=0.0)
    assert two.value == pytest.approx(0.5) and two.low == 0.0 and two.high == 1.0


@pytest.fixture
def ordered(cast, tmp_path):
    """A study in which three people put three answers in order."""
    study = everykind.study(tmp_path)
    people = [cast.member(name, study, "annotator") for name in ("Ann", "Bo", "Chen")]
    everykind.judge(study, people, only=["i-order"])
    return study


def test_the_report_has_w_and_the_page_shows_it(ordered, cast, login):
    result = recompute.recompute(ordered, "order")
    # Places of c-own, c-generic, c-sea: 1 3 2, 1 2 3 and 1 2 2.
    w = concordance(np.array([[1, 3, 2], [1, 2, 3], [1, 2, 2]]))
    assert result.agreement["kendall_w"]["value"] == pytest.approx(w)
    assert (result.agreement["items"], result.agreement["workers"], result.votes) == (1, 3, 3)
    assert result.tiers == {}
    cast.member("Rui", ordered, "researcher")
    page = login(cast.person("Rui")).get("/studies/mix/results/order/").content.decode()
    assert "Kendall&#x27;s W" in page and f"{w:.3f}" in page
    assert "1-3-2, 1-2-3, 1-2-2" in page


def test_strategies_have_mean_places_and_strengths(ordered):
    definition = ordered.tasks.get(name="order")
    board = Board(ordered, definition)
    places = {row[0]: row[2:4] for row in figure_of(board, "answers").rows}
    assert places["A1"] == (3, 1)
    assert places["A2"] == (0, pytest.approx(2.5)) and places["generic"] == (0, pytest.approx(2.5))
    strengths = {row[0]: row[2] for row in figure_of(board, "strategies").rows}
    assert strengths["A1"] > strengths["A2"] == pytest.approx(strengths["generic"])


def test_rankings_have_no_single_labels_for_the_command(ordered):
    with pytest.raises(VotesError, match="Rankings have no single labels"):
        stored.study_votes("mix", "order")


@pytest.mark.parametrize(
    ("value", "ties", "label"),
    [
        (["a", "b", "c"], False, {"1": 1, "2": 2, "3": 3}),
        (["c", ["a", "b"]], True, {"1": 2, "2": 2, "3": 1}),
        (["c", ["a", "b"]], False, None),
        (["a", "b"], True, None),
        (["a", "a", "b", "c"], True, None),
        (["a", "b", 7], True, None),
        ([["a", ["b"]], "c"], True, None),
        ("abc", True, None),
        (None, True, None),
    ],
)
def test_a_listed_ranking_names_every_answer_once(value, ties, label):
    kind, row = kind_of("ranking"), {"candidates": ["a", "b", "c"]}
    config = {"options": 3, "ties": ties}
    if label is None:
        with pytest.raises(DomainError, match="the best first"):
            kind.expected(value, row, config)
    else:
        keys = {f"{number}/ranking": place for number, place in label.items()}
        assert kind.expected(value, row, config) == keys
        assert kind.of_label(keys, config).label == keys
