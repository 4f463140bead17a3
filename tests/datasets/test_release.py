import csv
import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.datasets import folders
from annotation.datasets.check import check_release
from annotation.datasets.models import Release


@pytest.fixture
def judged(panel, _data):
    panel(*["111111112"] * 2)


def release(*args, **options):
    call_command("release", "tea", *args, **options)


def test_it_writes_a_folder_that_checks_and_prints_its_manifest(judged, tmp_path, capsys):
    out = tmp_path / "deep" / "out"
    release("--layout", "personafeedback", "--out", out, "--json")
    manifest = json.loads(capsys.readouterr().out)
    assert manifest == json.loads((out / "manifest.json").read_text())
    assert (manifest["study"], manifest["version"]) == ("tea", 1)
    assert check_release(out) == []
    done = Release.objects.get()
    assert (done.status, done.manifest) == ("done", manifest)
    assert check_release(folders.folder_of(done)) == []


def test_a_summary_is_printed_without_json(judged, tmp_path, capsys):
    release("--layout", "long", "--format", "csv", "--out", tmp_path / "out")
    assert capsys.readouterr().out == (
        "tea release 1 (long, csv): 2 items, 18 judgments by 9 workers; "
        "pairs: 0 easy, 0 medium, 2 hard; 10 files\n"
    )
    with (tmp_path / "out" / "votes.csv").open(newline="") as file:
        assert next(csv.DictReader(file)).keys() == {"task", "worker", "label"}


def test_a_folder_with_other_things_is_refused_and_nothing_is_frozen(judged, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CommandError, match="is not empty"):
        release("--layout", "long", "--out", tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    release("--layout", "long", "--out", tmp_path / "out")
    with pytest.raises(CommandError, match="is not empty"):
        release("--layout", "long", "--out", tmp_path / "out")
    assert Release.objects.count() == 1
    with pytest.raises(CommandError, match="is not empty"):
        release("--layout", "long", "--out", tmp_path / "notes.txt")


def test_a_release_whose_rows_have_changed_is_not_passed_off_as_the_published_one(
    judged, tmp_path, cast
):
    release("--layout", "dpo", "--out", tmp_path / "first")
    cast.study("tea").queries.update(text="Rewritten")
    with pytest.raises(CommandError, match="would not come out as it was published"):
        release("--again", 1, "--out", tmp_path / "second")
    assert not (tmp_path / "second").exists()


@pytest.mark.parametrize(
    ("args", "sentence", "code"),
    [
        (["--layout", "bespoke"], "this study has none", 1),
        (["--layout", "nothing"], "invalid choice", 1),  # 2 from the shell
        (["--layout", "dpo", "--format", "csv"], "written as jsonl", 2),
        (["--again", "7"], "no finished release 7", 1),
        ([], "--layout", 2),
    ],
)
def test_what_cannot_be_is_one_sentence(judged, tmp_path, args, sentence, code):
    with pytest.raises(CommandError, match=sentence) as refusal:
        release(*args, "--out", tmp_path / "out")
    assert refusal.value.returncode == code
    assert not (tmp_path / "out").exists()
