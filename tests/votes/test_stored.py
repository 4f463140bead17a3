"""The columns of votes on one question: units, labels and places, without a database."""

import numpy as np
import pytest

from annotation.judging.kinds import kind_of
from annotation.questions.base import Measure
from annotation.studies.models import TaskDefinition
from annotation.votes import counting
from annotation.votes.stored import QuestionVotes, rankings_of


def votes(rows, labels=(), orders=((),)):
    """Votes of rows (judgment, item, option, rater, label's code, order's code)."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    names = ("judgment", "item", "option", "rater", "label", "shown")
    n = columns.shape[1]
    return QuestionVotes(
        **dict(zip(names, columns, strict=True)),
        at=np.arange(n),
        seconds=np.full(n, np.nan),
        labels=list(labels),
        orders=[list(order) for order in orders],
    )


def test_a_unit_is_an_item_or_one_of_its_answers():
    read = votes(
        [(1, 4, 0, 7, 0, 0), (2, 4, 0, 8, 0, 0), (1, 5, 1, 7, 0, 0), (1, 5, 2, 7, 0, 0)], "a"
    )
    units, unit = read.units
    assert units.tolist() == [[4, 0], [5, 1], [5, 2]]
    assert unit.tolist() == [0, 0, 1, 2]
    assert len(votes([]).units[0]) == 0


def test_a_label_is_coded_by_its_place_and_an_unknown_one_is_none():
    read = votes([(1, 1, 0, 7, 1, 0), (2, 1, 0, 8, 0, 0), (3, 1, 0, 9, 2, 0)], ["yes", "no", "old"])
    assert read.coded(["no", "unsure", "yes"]).tolist() == [0, 2, -1]
    assert len(read.take(read.rater > 7)) == 2


def test_the_place_of_a_choice_follows_the_order_shown():
    """Answers 1 and 2 as shown, turned, and in an order that nobody knows; a tie has no place."""
    rows = [(n, n, 0, 7, label, order) for n, (label, order) in
            enumerate([(0, 0), (0, 1), (1, 1), (2, 0), (0, 2)])]  # fmt: skip
    read = votes(rows, ["1", "2", "tie"], [(1, 2), (2, 1), ()])
    place, places, first = read.chosen([1, 2, 0])
    assert place.tolist() == [1, 2, 1, 0, 0]
    assert places.tolist() == [2, 2, 2, 0, 0]
    assert first.tolist() == [1, 2, 2, 1, 0]


def chosen(task, labels):
    """What labels of the task's first question choose."""
    return counting.answers_chosen(task, counting.measures_of(task)[0], labels)


@pytest.mark.parametrize(
    ("points", "choices", "numbers"),
    [
        (5, ["1", "1", "tie", "2", "2"], [1, 1, 0, 2, 2]),
        (7, ["1", "1", "1", "tie", "2", "2", "2"], [1, 1, 1, 0, 2, 2, 2]),
    ],
)
def test_no_preference_chooses_neither_answer(points, choices, numbers):
    config = kind_of("preference").check_config({"points": points})
    task = TaskDefinition(name="rate", kind="preference", config=config)
    labels = [str(point) for point in range(1, points + 1)]
    assert chosen(task, labels) == (choices, numbers)


def test_words_choose_no_answer_and_a_choice_its_own():
    matter = TaskDefinition(name="matter", kind="relevance", config={})
    assert chosen(matter, ["yes", "no"]) == (["yes", "no"], [0, 0])
    config = kind_of("selection").check_config({"options": 2, "tie": True})
    better = TaskDefinition(name="better", kind="selection", config=config)
    assert chosen(better, ["2", "tie"]) == (["2", "tie"], [2, 0])


def test_rankings_have_a_row_a_judgment_and_a_column_an_answer():
    rows = [(8, 3, 1, 7, 0, 0), (9, 3, 1, 6, 1, 0), (8, 3, 2, 7, 1, 0), (9, 3, 2, 6, 0, 0)]
    ((item, places),) = rankings_of(votes(rows, ["1", "2"]))
    assert (item, places.tolist()) == (3, [[1, 2], [2, 1]])
    assert rankings_of(votes([])) == []


def test_scores_are_several_measures_on_numbered_scales():
    points = Measure("Tone", "ordinal", ("1", "2"), "Tone")
    words = Measure("Fit", "ordinal", ("no", "yes"), "Fit")
    one = Measure("", "ordinal", ("1", "2"), "preference")
    assert counting.are_scores([points]) and not counting.are_scores([points, words])
    assert not counting.are_scores([one]) and not counting.are_scores([])
