"""Labels of imported votes: those that occur, for nobody here could have given another."""

import json

import pytest
from django.core.management import call_command

from annotation.agreement.recompute import recompute
from annotation.judging.kinds import kind_of
from annotation.judging.models import Judgment
from annotation.studies.models import TaskDefinition

VOTES = [("i", "ann", "A"), ("i", "bo", "A"), ("j", "ann", "B"), ("j", "bo", "A")]


@pytest.fixture
def imported(tea, tmp_path, capsys):
    """A task that allows ties and "none", with votes of a file that has neither."""
    config = kind_of("selection").check_config({"options": 2, "tie": True, "none": True})
    TaskDefinition.objects.create(study=tea, name="better", kind="selection", config=config)
    lines = ["id,prompt,answer_a,answer_b,rater,winner"]
    lines += [f"{item},{item}?,x,y,{rater},{label}" for item, rater, label in VOTES]
    path = tmp_path / "votes.csv"
    path.write_text("\n".join(lines) + "\n")
    call_command("import_data", str(path), study="tea", task="better")
    capsys.readouterr()
    return tea


def agreement(capsys) -> dict:
    call_command("agreement", "tea", "--json")
    return json.loads(capsys.readouterr().out)


def test_labels_that_no_imported_vote_has_are_not_counted_as_chance(imported, carol, capsys):
    report = agreement(capsys)
    assert report["categories"] == ["1", "2"]
    # Two raters agree on one of two items: 1/2, and of two labels chance alone gives as much.
    assert report["symmetric_kappa"]["value"] == 0
    recompute(imported, "better")
    assert "Labels: 1, 2;" in carol.get("/studies/tea/results/better/").content.decode()


def test_a_release_counts_the_same_labels(imported, tmp_path, capsys):
    call_command("release", "tea", "--layout", "long", "--out", tmp_path / "out", "--json")
    report = json.loads(capsys.readouterr().out)["agreement"]["better v1"]["all"]
    assert (report["categories"], report["symmetric_kappa"]["value"]) == (
        ["answer 1", "answer 2"],
        0,
    )


def test_a_vote_that_was_given_here_could_have_been_a_tie(imported, capsys):
    Judgment.objects.filter(pk=Judgment.objects.latest("pk").pk).update(imported=False)
    report = agreement(capsys)
    assert report["categories"] == ["1", "2", "tie", "none"]
    assert report["symmetric_kappa"]["value"] == pytest.approx(1 / 3)
