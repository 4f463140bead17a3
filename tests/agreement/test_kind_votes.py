"""Agreement on the kinds of judgment besides selections."""

import json

import pytest
from django.core.management import CommandError, call_command

from annotation.judging.imports import bundles
from tests import everykind


@pytest.fixture
def mix(cast, tmp_path):
    return everykind.judged(cast, tmp_path)


@pytest.fixture
def report(mix, capsys):
    def report_(*arguments):
        call_command("agreement", "mix", *arguments, "--json", "--bootstrap", "0")
        return json.loads(capsys.readouterr().out)

    return report_


@pytest.mark.parametrize(
    ("task", "categories", "levels", "agreement"),
    [
        # All three agree on one attribute, nobody on the other.
        ("traits", ["accepted", "rejected", "uncertain"], ["nominal"], 0.5),
        ("matter", ["no", "yes"], ["nominal"], 1 / 3),
        ("rate", [1, 2, 3, 4, 5], ["nominal", "ordinal"], 1 / 3),
    ],
)
def test_words_are_nominal_and_points_ordinal(report, task, categories, levels, agreement):
    found = report("--task", task)
    assert (sorted(found["categories"]), list(found["krippendorff_alpha"])) == (categories, levels)
    assert found["percent_agreement"]["value"] == pytest.approx(agreement)
    assert list(report("--task", task, "--level", "nominal")["krippendorff_alpha"]) == ["nominal"]


def test_scores_are_compared_one_criterion_at_a_time(report):
    assert report("--task", "feel:Depth")["percent_agreement"]["value"] == 1.0
    assert report("--task", "feel:Tone")["percent_agreement"]["value"] == 0.0
    with pytest.raises(CommandError, match="name one of feel:Tone, feel:Depth"):
        report("--task", "feel")


def test_tiers_are_of_selections_alone(mix):
    with pytest.raises(CommandError, match="no votes in a task “matter”"):
        call_command("tiers", "mix", "--task", "matter")


def test_a_task_nobody_judged_says_so(cast, tmp_path):
    bundles.import_study(everykind.write(tmp_path / "mix"))
    with pytest.raises(CommandError, match="has no votes in a task “matter”"):
        call_command("agreement", "mix", "--task", "matter")
