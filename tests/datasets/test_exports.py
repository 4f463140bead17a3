"""Exports of Label Studio and Argilla become studies with questions, items and answers.

`tests/data/argilla` was written by argilla 2.8.0, the results in `tests/data/label_studio` by
label-studio-sdk 2.1.2.
"""

import json
import shutil
from pathlib import Path

import pytest

from annotation.core.errors import DomainError
from annotation.datasets.release_import import import_release
from annotation.judging.models import Answer, Judgment
from annotation.studies.models import Study

pytestmark = pytest.mark.django_db
DATA = Path(__file__).parents[1] / "data"


def said(item: str) -> list[tuple]:
    """(worker, question, option's model or "", what was said) on one item."""
    rows = Answer.objects.filter(judgment__slot__item__external_id=item)
    models = {
        option.number: option.candidate.model
        for option in Study.objects.get().items.get(external_id=item).options.all()
    }
    return sorted(
        (
            row.judgment.annotator.worker.rpartition(":")[2],
            row.question,
            models.get(row.option, ""),
            models.get(int(row.label), row.label)
            if row.question == "better" and row.label.isdigit()
            else row.label or row.value or row.text or row.chips,
        )
        for row in rows
    )


def test_a_label_studio_project_comes_in_with_its_controls_as_questions():
    report = import_release(DATA / "label_studio", "moved")
    assert (report["layout"], report["items"], report["votes"]) == ("label-studio", 2, 4)
    assert (report["rejected"], report["workers"]) == ([], 2)
    task = Study.objects.get().tasks.get()
    questions = {question["name"]: question for question in task.config["questions"]}
    assert {name: question["type"] for name, question in questions.items()} == {
        "better": "choice", "safe": "label", "faults": "label", "depth": "rating", "why": "text",
    }  # fmt: skip
    assert [(one["name"], one["title"][""]) for one in questions["safe"]["classes"]] == [
        *(("No", "No"), ("Unsure", "Unsure"), ("y", "Yes"))
    ]
    assert (questions["depth"]["points"], questions["faults"]["several"]) == (7, True)
    assert Study.objects.get().queries.get(external_id="101").text == "Which tea, 1?"
    assert said("101") == [
        ("annotator-1", "better", "", "left_answer"),
        ("annotator-1", "depth", "", 5),
        ("annotator-1", "faults", "", ["long", "rude"]),
        ("annotator-1", "safe", "", "No"),
        ("annotator-1", "why", "", "Kind."),
        ("annotator-2", "better", "", "right_answer"),
        ("annotator-2", "depth", "", 2),
        ("annotator-2", "safe", "", "Unsure"),
    ]
    first = Judgment.objects.get(
        slot__item__external_id="101", annotator__worker="moved:annotator-1"
    )
    assert (first.seconds, str(first.submitted_at)) == (12.5, "2026-05-01 10:00:00+00:00")


def test_an_argilla_dataset_comes_in_and_what_it_cannot_hold_is_counted():
    report = import_release(DATA / "argilla", "moved")
    assert (report["layout"], report["items"], report["votes"]) == ("argilla", 2, 4)
    assert report["left_out"] == {"question “spans” (span): no type of question asks it": 1}
    questions = {one["name"]: one for one in Study.objects.get().tasks.get().config["questions"]}
    assert [one["name"] for one in questions["odd"]["classes"]] == ["0", "5", "10"]
    assert (questions["odd"]["ordinal"], questions["order"]["ties"]) == (True, True)
    assert questions["better"]["title"] == {"": "Which is better?"}
    one, two = (f"annotator-00000000-0000-0000-0000-00000000000{n}" for n in (1, 2))
    assert said("r1") == [
        (one, "better", "", "one"),
        (one, "depth", "", 4),
        (one, "faults", "", ["long"]),
        (one, "odd", "", "5"),
        (one, "order", "response_1", 2),
        (one, "order", "response_2", 1),
        (one, "order", "response_3", 2),
        (one, "why", "", "Kind."),
        (two, "better", "", "two"),
        (two, "depth", "", 2),
    ]


@pytest.fixture
def project(tmp_path):
    shutil.copytree(DATA / "label_studio", tmp_path / "project")
    return tmp_path / "project"


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ("<View", "is no XML"),
        ("<View><Text name='a' value='$a'/></View>", "no control that becomes a question"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><View>&a;</View>', "or a DTD"),
    ],
)
def test_a_configuration_that_asks_nothing_is_refused_and_nothing_is_stored(project, config, words):
    (project / "config.xml").write_text(config)
    with pytest.raises(DomainError, match=words):
        import_release(project, "moved")
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    "export", ["", "{}", "[1]", '[{"data": []}]', "[" * 100_000, '[{"id": 1, "data": {"a": 1}}, 2]']
)
def test_an_export_that_is_none_is_refused_or_its_rows_are_faults(project, export):
    (project / "export.json").write_text(export)
    try:
        report = import_release(project, "moved")
    except DomainError as refusal:
        assert refusal.sentence and not Study.objects.exists()
    else:
        assert [row["line"] for row in report["rejected"]] == [2]


def test_an_answer_outside_its_classes_is_a_fault_with_its_line(project):
    rows = json.loads((project / "export.json").read_text())
    rows[1]["annotations"][0]["result"][1]["value"]["choices"] = ["Maybe"]
    (project / "export.json").write_text(json.dumps(rows))
    report = import_release(project, "moved")
    assert report["votes"] == 3
    (fault,) = report["rejected"]
    assert (fault["file"], fault["line"]) == ("export.json", 2)
    assert "“Maybe” is none of its classes" in fault["reason"]
