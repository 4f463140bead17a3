"""Verdicts of models from a file: stored once, beside the votes."""

import pytest
from django.core.management import CommandError, call_command

from annotation.core.errors import DomainError
from annotation.evaluation.models import Verdict
from annotation.evaluation.raters import _said, _Target, asked, import_verdicts
from annotation.studies.bundle import BundleError
from tests.evaluation.conftest import ROWS, printed, write


def test_verdicts_are_stored_once_and_are_no_votes(mix, tmp_path):
    path = write(tmp_path, *ROWS)
    counts = {"verdicts": 4, "items": 4, "models": ["m-1"]}
    done = list(mix.items.order_by("pk").values_list("done", flat=True))
    assert import_verdicts(mix, path) == counts | {"new": 4}
    assert import_verdicts(mix, path) == counts | {"new": 0}
    assert Verdict.objects.count() == 4
    assert list(mix.items.order_by("pk").values_list("done", flat=True)) == done


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"task": "i-none"}, "line 2: the study has no item “i-none”"),
        ({"task": "t-1"}, "line 2: the study has no item “t-1” that models judge"),
        ({"task": "i-better"}, "line 2: “label” must be one of c-own, c-generic, tie"),
        ({"option": "c-own"}, "“option” must be left out"),
        ({"question": "other"}, "“question” must be one of verdict"),
        ({"task": "i-feel", "question": "Tone"}, "“label” must be one of 1, 2, 3, 4, 5"),
        ({"task": "i-feel"}, "“question” must be one of Depth, Tone"),
        ({"task": "i-own", "question": "polite"}, "“option” must be one of c-own, c-generic"),
        ({"task": "i-own", "question": "why not"}, "“question” must be one of best, depth, polite"),
        ({"confidence": 1.5}, "“confidence” must be a number from 0 to 1"),
        ({"label": None}, "“label” must be one of accepted, uncertain, rejected"),
        ({"label": "maybe"}, "“label” must be one of accepted, uncertain, rejected"),
        ({"label": "rejected"}, "“m-1” has given another verdict on this item"),
        ({"model": ""}, "“model” is empty"),
        ({"label": [1]}, "“label” must be text"),
    ],
)
def test_a_wrong_row_is_named_and_nothing_is_stored(mix, tmp_path, row, words):
    path = write(tmp_path, ROWS[0], ROWS[0] | row)
    with pytest.raises(BundleError) as refusal:
        import_verdicts(mix, path)
    assert len(refusal.value.faults) == 1
    assert words in refusal.value.faults[0]
    assert not Verdict.objects.exists()


def test_the_command_prints_the_counts(mix, tmp_path):
    path = write(tmp_path, *ROWS)
    assert printed("import_verdicts", "mix", path)["new"] == 4
    with pytest.raises(CommandError, match="no such file"):
        call_command("import_verdicts", "mix", str(tmp_path / "gone"))


def test_every_type_of_question_takes_verdicts(mix, tmp_path):
    own = {"model": "m-1", "task": "i-own"}
    rows = [
        {"model": "m-1", "task": "i-better", "label": "c-generic", "confidence": 0.75},
        {"model": "m-1", "task": "i-order", "option": "c-sea", "value": 2},
        {"model": "m-1", "task": "i-feel", "question": "Tone", "value": 4},
        {"model": "m-1", "task": "i-feel", "question": "Depth", "option": "c-own", "label": "5"},
        {"model": "m-1", "task": "g-1", "label": "rejected"},
        own | {"question": "best", "label": "tie"},
        own | {"question": "polite", "option": "c-generic", "label": "Unsure"},
        own | {"question": "depth", "value": 7},
    ]
    assert import_verdicts(mix, write(tmp_path, *rows))["new"] == 8
    fields = ("item__external_id", "question", "option", "label", "confidence")
    stored = Verdict.objects.order_by("item__external_id", "question").values_list(*fields)
    assert list(stored) == [
        ("g-1", "", None, "rejected", None),
        ("i-better", "", None, "2", 0.75),
        ("i-feel", "Depth", 1, "5", None),
        ("i-feel", "Tone", 1, "4", None),
        ("i-order", "", 3, "2", None),
        ("i-own", "best", None, "tie", None),
        ("i-own", "depth", None, "7", None),
        ("i-own", "polite", 2, "Unsure", None),
    ]
    assert import_verdicts(mix, write(tmp_path, *rows))["new"] == 0


def test_of_several_classes_each_is_said_to_be_ticked_or_not():
    asked_ = asked("questions", {"options": 0, "shows": ["request"], "questions": [
        {"type": "label", "name": "topics", "classes": ["a", "b"], "several": True}]})  # fmt: skip
    target = _Target(1, asked_, "", {})
    row = {"question": "topics", "option": None, "label": None, "value": None, "labels": ["b"]}
    assert _said(target, row) == [("topics: a", None, "no"), ("topics: b", None, "yes")]
    with pytest.raises(DomainError, match="“labels” must be some of a, b"):
        _said(target, row | {"labels": ["c"]})
