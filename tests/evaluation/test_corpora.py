"""Pairs of another corpus by their gap, and the table of reward models trained with them."""

import csv
import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.evaluation import pairs
from annotation.evaluation.models import Run
from annotation.evaluation.pairs import BenchmarkError
from tests.evaluation.conftest import write_lines
from tests.evaluation.test_train import LIKES, make_pairs


def rated(prompt, *answers):
    return [{"prompt": prompt, "response": text, "helpfulness": n} for text, n in answers]


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        (rated("P", ("a", 4), ("b", 2)) + rated("Q", ("c", 3), ("d", 4)), [("P", "a", "b")]),
        (rated("P", ("a", 1), ("b", 4), ("c", 3)), [("P", "b", "a"), ("P", "c", "a")]),
        (
            [{"prompt": "P", "response_1": "a", "response_2": "b", "preference_strength": n}
             for n in (-3, -1, 0, 2)],
            [("P", "a", "b"), ("P", "b", "a")],
        ),
        ([{"prompt": "P", "chosen": "a", "rejected": "b", "gap": n} for n in (1.5, 2)],
         [("P", "a", "b")]),
    ],
)  # fmt: skip
def test_pairs_have_the_gap_and_the_better_answer_first(tmp_path, rows, kept):
    write_lines(tmp_path / "other.jsonl", rows)
    made = pairs.read_corpus(tmp_path / "other.jsonl", 2)
    assert [(pair.question, pair.chosen, pair.reject) for pair in made.pairs] == kept
    assert {pair.user_id for pair in made.pairs} == {""}


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"prompt": "P"}, "line 1: there is no response or response_1 or chosen"),
        ({"prompt": "P", "response": "a"}, "line 1: prompt, response, helpfulness are"),
        ({"prompt": "P", "chosen": "a", "rejected": "b", "gap": True}, "line 1: prompt, chosen"),
        ({"prompt": 3, "chosen": "a", "rejected": "b", "gap": 3}, "line 1: prompt, chosen"),
        ({"prompt": "P", "chosen": "a", "rejected": "b", "gap": 1}, "no pair with a gap of 2"),
    ],
)
def test_rows_that_are_no_pairs_are_named(tmp_path, row, words):
    write_lines(tmp_path / "other.jsonl", [row])
    with pytest.raises(BenchmarkError, match=words):
        pairs.read_corpus(tmp_path / "other.jsonl", 2)


@pytest.mark.django_db
def test_one_command_makes_the_table_of_base_other_and_personalised_pairs(tmp_path, server, capsys):
    """The other pairs prefer any list of things; only the personalised ones know the person."""
    server.answer = lambda request, number: "Verdict: 1"
    training, test = make_pairs(tmp_path / "training", seed=1), make_pairs(tmp_path / "test")
    other = [row for n in range(12) for row in
             rated(f"Evening {n}?", (f"Do {LIKES[n % 6]}, at length.", 4), ("No.", 1))]  # fmt: skip
    write_lines(tmp_path / "other.jsonl", other)
    asked = ["train", "reward", "--release", str(training), "--out", str(tmp_path / "models")]
    more = ["--pairs", str(tmp_path / "other.jsonl"), "--test", str(test)]
    call_command(*asked, *more, "--endpoint", "scripted")
    heads, *lines = csv.reader(io.StringIO(capsys.readouterr().out))
    values = {line[0]: float(line[heads.index("Total Avg.")]) for line in lines}
    assert set(values) == {"base", "pairs", "pairs-personalised"}
    # It names the first of both orders.
    assert values["base"] == 50
    assert values["pairs"] < 75 < values["pairs-personalised"]
    assert [line[heads.index("n")] for line in lines] == ["96"] * 3
    assert Run.objects.filter(kind="learned").count() == 2
    for wrong in (more[:2], more[2:]):
        with pytest.raises(CommandError, match="go together"):
            call_command(*asked, *wrong)
    # Persons of the training are no test.
    with pytest.raises(CommandError, match="every persona or question"):
        call_command(*asked, *more[:3], str(training))


def test_joined_pairs_keep_their_persons(tmp_path):
    write_lines(tmp_path / "o.jsonl", rated("P", ("a", 4), ("b", 1)))
    release = pairs.read(make_pairs(tmp_path / "r", users=2, each=1))
    both = pairs.joined(pairs.read_corpus(tmp_path / "o.jsonl", 2), release)
    assert [pair.place for pair in both.pairs] == [0, 1, 2]
    assert [pair.user_id for pair in both.pairs] == ["", "1", "2"]
    assert both.digest != release.digest
    assert json.dumps(both.personas) == json.dumps(release.personas)
