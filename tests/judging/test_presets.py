"""A scale from one answer to another: which way it turns, and that its middle is no choice."""

import csv
import io
from types import SimpleNamespace

import pytest

from annotation.judging.kinds import kind_of
from annotation.judging.work import present, queue, submit
from tests.browser.kinds import open_kind

KIND = kind_of("preference")
FIVE, SEVEN = (KIND.check_config({"points": points}) for points in (5, 7))


def test_the_middle_of_the_scale_is_a_choice_of_neither_answer():
    choices = [[KIND.choice(label, config) for label in KIND.labels(config)]
               for config in (FIVE, SEVEN)]  # fmt: skip
    assert choices == [["1", "1", "tie", "2", "2"], ["1", "1", "1", "tie", "2", "2", "2"]]


@pytest.mark.parametrize(
    ("order", "sent", "label"),
    [((1, 2), 1, "1"), ((2, 1), 1, "5"), ((1, 2), 4, "4"), ((2, 1), 4, "2"), ((2, 1), 3, "3")],
)
def test_an_answer_is_stored_from_option_1_whatever_was_shown_first(order, sent, label):
    held = SimpleNamespace(shown=order, options=(), config=FIVE)
    answer = KIND.read({"value": str(sent)}, held)
    assert answer.label == label
    assert KIND.as_shown(answer, order, FIVE).label == str(sent)


def test_an_answer_without_a_known_order_stays_as_it_is_stored():
    assert KIND.as_shown(KIND.of_label("2", FIVE), [], FIVE).label == "2"


def test_no_preference_is_a_vote_for_neither_side_of_the_results(cast, tea, login):
    """Both say "no preference" of one item; of the other each prefers another place."""
    open_kind(cast, tea, "preference", items=2, options=2)
    for name, values in {"Ann": {1: 3, 2: 1}, "Bo": {1: 3, 2: 5}}.items():
        person = cast.person(name)
        while slot := queue.claim(tea, person):
            number = int(present.show(slot, person).answers[0][1].rpartition("-q")[2][0]) + 1
            body = {"value": values[number]}
            submit.submit(tea, slot, person, body, key=f"{name}-{number}")
    page = login(cast.person("Rui")).get("/studies/tea/results/preference/figures/sides.csv")
    _caption, table = page.text.split("\n", 1)
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [(row["Choices"], row["of the first"]) for row in rows] == [
        ("2", "1"), ("1", "1"), ("1", "0"),
    ]  # fmt: skip
