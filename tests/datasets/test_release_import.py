"""A release, ours or a published one, becomes a study; what is faulty is listed."""

import json
import shutil

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.core.errors import DomainError
from annotation.datasets.models import ImportedPair, Release
from annotation.datasets.release_import import import_release
from annotation.judging.models import Judgment, Slot
from annotation.studies.models import Study

PAIR = {"user_id": "1", "question": "What shall I read?", "chosen": "Tea.", "reject": "Cars."}


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def published(tmp_path):
    """The benchmark as published: one folder is spelled otherwise, rows have four keys."""
    folder = tmp_path / "published"
    write(folder / "persona/all_personas.jsonl", [{"Name": "Mina"}, {"Name": "Ben"}])
    for half, tiers in (("spedific", (3, 2, 1)), ("general", (1, 2, 4))):
        for tier, number in zip(("easy", "medium", "hard"), tiers, strict=True):
            rows = [
                PAIR | {"user_id": str(n % 2 + 1), "question": f"{half} {tier} {n}?"}
                for n in range(number)
            ]
            write(folder / f"data/{half}/{tier}.jsonl", rows)
    return folder


def test_a_published_benchmark_comes_in_with_its_tiers_and_without_votes(published, db):
    report = import_release(published, "again")
    assert report["layout"] == "personafeedback"
    assert report["pairs"] == {
        "specific": {"easy": 3, "medium": 2, "hard": 1},
        "general": {"easy": 1, "medium": 2, "hard": 4},
    }
    assert (report["items"], report["queries"], report["candidates"]) == (13, 13, 26)
    assert (report["votes"], report["rejected"], report["unknown_columns"]) == (0, [], [])
    study = Study.objects.get(slug="again")
    assert not Judgment.objects.exists()
    assert set(study.queries.values_list("type", flat=True)) == {"specific", "general"}
    assert ImportedPair.objects.filter(option__candidate__text="Tea.").count() == 13
    # It can be judged: nine judgments an item are wanted.
    assert study.slots.filter(status=Slot.Status.OPEN).count() == 13 * 9


def test_faulty_rows_are_listed_with_file_and_row_and_the_rest_comes_in(published, db):
    path = published / "data/general/hard.jsonl"
    rows = [
        json.dumps(PAIR),
        "no json",
        json.dumps({"user_id": "1", "question": "Only a question?"}),
        json.dumps(PAIR | {"user_id": "77"}),
        json.dumps(PAIR | {"chosen": {"a": 1}, "question": "x"}),
        json.dumps(PAIR | {"question": "A lone \ud800 and \u0000?", "source": "lab"}),
        "[1]",
    ]
    path.write_text("\n".join(rows) + "\n")
    report = import_release(published, "again")
    reasons = {(one["file"], one["line"]): one["reason"] for one in report["rejected"]}
    assert reasons == {
        ("data/general/hard.jsonl", 2): "the line is no JSON",
        ("data/general/hard.jsonl", 3): "there is no text “chosen”",
        ("data/general/hard.jsonl", 4): "there is no persona “77”",
        ("data/general/hard.jsonl", 5): "there is no text “chosen”",
        ("data/general/hard.jsonl", 7): "the row is no object",
    }
    assert report["pairs"]["general"]["hard"] == 2
    assert report["unknown_columns"] == ["source"]
    assert report["items"] == 11


def test_pairs_alone_are_enough(tmp_path, db):
    write(tmp_path / "general/easy.jsonl", [PAIR])
    report = import_release(tmp_path, "bare")
    assert (report["items"], report["pairs"]) == (1, {"general": {"easy": 1}})
    assert Study.objects.get(slug="bare").personas.get().external_id == "1"


def test_pairs_with_the_published_keys_may_stand_in_one_file(tmp_path, db):
    write(tmp_path / "pairs.jsonl", [PAIR, PAIR | {"question": "And now?", "tier": "hard"}])
    report = import_release(tmp_path, "bare")
    assert (report["items"], report["rejected"], report["unknown_columns"]) == (2, [], [])
    assert report["pairs"] == {"specific": {"": 1, "hard": 1}}
    study = Study.objects.get(slug="bare")
    assert study.personas.get().external_id == "1"
    assert set(study.queries.values_list("text", flat=True)) == {PAIR["question"], "And now?"}
    assert set(study.candidates.values_list("text", flat=True)) == {"Tea.", "Cars."}


def test_imported_pairs_can_be_released_with_the_tiers_they_came_with(published, db, tmp_path):
    import_release(published, "again")
    out = tmp_path / "out"
    call_command(
        *("release", "again", "--layout", "personafeedback", "--rule", "imported", "--out", out)
    )
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["counts"]["pairs"] == {"easy": 4, "medium": 4, "hard": 5}
    row = json.loads((out / "data/specific/hard.jsonl").read_text())
    assert (row["chosen"], row["reject"], row["n"]) == ("Tea.", "Cars.", 0)
    assert "no vote" in (out / "README.md").read_text()
    assert import_release(out, "third")["pairs"] == import_release(published, "again")["pairs"]


@pytest.mark.parametrize("case", ["nowhere", "empty", "other", "faulty", "slug"])
def test_a_folder_without_a_release_is_refused_and_nothing_is_stored(tmp_path, db, case):
    folder = tmp_path / "folder"
    if case != "nowhere":
        folder.mkdir()
    if case == "other":
        (folder / "notes.txt").write_text("Hello.")
    if case in ("faulty", "slug"):
        write(folder / "pairs.jsonl", [{"prompt": "Only this?"}])
    with pytest.raises(DomainError):
        import_release(folder, "no/slug" if case == "slug" else "again")
    assert not Study.objects.exists()


def test_the_command_prints_one_document_or_a_summary(published, db, capsys):
    call_command("import_release", published, "again", "--json")
    assert json.loads(capsys.readouterr().out)["pairs"]["general"]["hard"] == 4
    (published / "data/general/easy.jsonl").write_text("{\n")
    call_command("import_release", published, "other")
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "other (personafeedback): 12 items, 0 votes, 0 scores, 0 workers"
    lacks, fault = err.splitlines()
    assert lacks.startswith("the layout has not: judgments of other kinds, persons' own ids")
    assert fault == "left out: data/general/easy.jsonl, row 1: the line is no JSON"
    shutil.rmtree(published)
    with pytest.raises(CommandError, match="is not a folder"):
        call_command("import_release", published, "again")
    assert not Release.objects.exists()
