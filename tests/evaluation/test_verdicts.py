"""Verdicts of models from a file: stored once, beside the votes."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.evaluation.models import Verdict
from annotation.evaluation.verdicts import import_verdicts
from annotation.studies.bundle import BundleError
from tests.evaluation.conftest import ROWS, write


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
        ({"task": "i-better"}, "line 2: the study has no item “i-better” that models give"),
        ({"task": "g-1"}, "line 2: the study has no item “g-1”"),
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


def test_the_command_prints_the_counts(mix, tmp_path, capsys):
    path = write(tmp_path, *ROWS)
    call_command("import_verdicts", "mix", str(path), "--json")
    assert json.loads(capsys.readouterr().out)["new"] == 4
    with pytest.raises(CommandError, match="no such file"):
        call_command("import_verdicts", "mix", str(tmp_path / "gone"))
