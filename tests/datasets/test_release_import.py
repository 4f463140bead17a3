"""A release, ours or a published one, becomes a study; what is faulty is listed.

It comes as a folder, or as a zip by page or API.
"""

import errno
import io
import json
import os
import shutil
import zipfile

import pytest
from django.core.files import uploadhandler
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.core.management.base import CommandError
from django.urls import reverse

from annotation.accounts.models import ApiToken
from annotation.core import jobs
from annotation.core.errors import DomainError
from annotation.datasets import release_import, tasks
from annotation.datasets.models import ImportedPair, Release, ReleaseImport
from annotation.datasets.release_import import import_release
from annotation.judging.models import Item, Judgment, Slot
from annotation.studies.models import Study
from tests.datasets.conftest import write_rows

PAIR = {"user_id": "1", "question": "What shall I read?", "chosen": "Tea.", "reject": "Cars."}


@pytest.fixture
def published(tmp_path):
    """The benchmark as published: one folder is spelled otherwise, rows have four keys."""
    folder = tmp_path / "published"
    write_rows(folder / "persona/all_personas.jsonl", [{"Name": "Mina"}, {"Name": "Ben"}])
    numbers = {"spedific/easy": 3, "spedific/medium": 2, "spedific/hard": 1,
               "general/easy": 1, "general/medium": 2, "general/hard": 4}  # fmt: skip
    for name, number in numbers.items():
        asked = [{"user_id": str(n % 2 + 1), "question": f"{name} {n}?"} for n in range(number)]
        write_rows(folder / f"data/{name}.jsonl", [PAIR | row for row in asked])
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
    write_rows(tmp_path / "general/easy.jsonl", [PAIR])
    report = import_release(tmp_path, "bare")
    assert (report["items"], report["pairs"]) == (1, {"general": {"easy": 1}})
    assert Study.objects.get(slug="bare").personas.get().external_id == "1"


def test_pairs_with_the_published_keys_may_stand_in_one_file(tmp_path, db):
    write_rows(tmp_path / "pairs.jsonl", [PAIR, PAIR | {"question": "And now?", "tier": "hard"}])
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
    wanted = ("--layout", "personafeedback", "--rule", "imported", "--out", out)
    call_command("release", "again", *wanted)
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["counts"]["pairs"] == {"easy": 4, "medium": 4, "hard": 5}
    row = json.loads((out / "data/specific/hard.jsonl").read_text())
    assert (row["chosen"], row["reject"], row["n"]) == ("Tea.", "Cars.", 0)
    assert "no vote" in (out / "README.md").read_text()
    assert import_release(out, "third")["pairs"] == import_release(published, "again")["pairs"]
    assert manifest["layout_version"] == 1
    (out / "manifest.json").write_text(json.dumps(manifest | {"layout_version": 2}))
    with pytest.raises(DomainError, match="is version 2 of the layout personafeedback: another"):
        import_release(out, "fourth")
    (out / "manifest.json").write_text(json.dumps({"layout": ["a list"]}))
    assert import_release(out, "third")["layout"] == "personafeedback"


@pytest.mark.parametrize("case", ["nowhere", "empty", "other", "faulty", "slug"])
def test_a_folder_without_a_release_is_refused_and_nothing_is_stored(tmp_path, db, case):
    folder = tmp_path / "folder"
    if case != "nowhere":
        folder.mkdir()
    if case == "other":
        (folder / "notes.txt").write_text("Hello.")
    if case in ("faulty", "slug"):
        write_rows(folder / "pairs.jsonl", [{"prompt": "Only this?"}])
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


ITEM = {
    "task": "best", "kind": "selection", "query_id": "q1", "question": "Which tea?",
    "user_id": "1", "candidates": ["c1", "c2"], "labels": ["c1", "c2"], "overlap": 3,
}  # fmt: skip
ANSWER = {"query_id": "q1", "text": "Green."}
VOTE = {"item_id": "i1", "kind": "selection", "worker": "w1", "answer": "c1"}
LONG = {
    "items": [ITEM | {"item_id": "i1"}, ITEM | {"item_id": "i2"}],
    "candidates": [
        ANSWER | {"candidate_id": "c1"}, ANSWER | {"candidate_id": "c2", "text": "Red."}
    ],
    "personas": [{"user_id": "1", "profile": {"Name": "Mina"}}],
    "judgments": [VOTE, VOTE | {"worker": "w2", "answer": "c2"}],
}  # fmt: skip
BENCH = {
    "attributes": [{"attribute_id": "a1", "user": "u1", "text": "Grows ferns."}],
    "relevance": [{"attribute_id": "a1", "user": "u1", "attribute": "Grows ferns.",
                   "prompt_id": "p1", "prompt": "What to buy?"}],
    "responses": [{"unit_id": "r1", "user": "u1", "prompt": "What to plant?", "generic": "Grass.",
                   "personalised": "Ferns."}],
}  # fmt: skip
ASKS, SAYS = {"role": "user", "content": "What?"}, {"role": "assistant", "content": "C"}
RULE = {"role": "system", "content": "The user's profile:\n- Name: Mina"}
DPO = {"pairs": [{"prompt": "Which?", "chosen": "A", "rejected": "B"},
                 {"prompt": "What?", "chosen": "C", "rejected": "D"}]}  # fmt: skip


def brought(folder, tables):
    """Items that came in, and {(file, line): reason} of what did not."""
    for name, rows in tables.items():
        write_rows(folder / f"{name}.jsonl", rows)
    report = import_release(folder, "again")
    return report["items"], {(f["file"], f["line"]): f["reason"] for f in report["rejected"]}


def changed(tables, name, place, **values):
    rows = [row | values if n == place else row for n, row in enumerate(tables[name])]
    return tables | {name: rows}


def without(tables, name):
    return {key: rows for key, rows in tables.items() if key != name}


ITEMS, VOTES = "items.jsonl", "judgments.jsonl"
NO_TASK = "“task” is no name of letters, digits, - and _, at most 60"
NO_OVERLAP = "“overlap” must be a whole number from 1 to 1000"
CASES = [
    (LONG, 2, {}),
    # A table that lacks.
    (without(LONG, "personas"), 2, {}),
    (without(LONG, "judgments"), 2, {}),
    (without(BENCH, "responses"), 2, {}),
    (without(BENCH, "attributes"), 2, {}),
    # Wrong types: the row is left out.
    (changed(LONG, "items", 1, candidates=7), 1, {(ITEMS, 2): "“candidates” is no list of text"}),
    (changed(LONG, "items", 1, labels=[1]), 1, {(ITEMS, 2): "“labels” is no list of text"}),
    (changed(LONG, "items", 1, kind=["a"]), 1,
     {(ITEMS, 2): "items of this kind cannot be imported"}),
    (changed(LONG, "items", 1, task="a b/c"), 1, {(ITEMS, 2): NO_TASK}),
    (changed(LONG, "items", 1, task="t" * 61), 1, {(ITEMS, 2): NO_TASK}),
    (changed(LONG, "items", 1, overlap="many"), 1, {(ITEMS, 2): NO_OVERLAP}),
    (changed(LONG, "items", 1, overlap=10**30), 1, {(ITEMS, 2): NO_OVERLAP}),
    (changed(LONG, "items", 1, item_id=["i2"]), 1, {(ITEMS, 2): "there is no text “item_id”"}),
    (changed(LONG, "judgments", 1, worker=[1]), 2, {(VOTES, 2): "worker must be text"}),
    (changed(LONG, "judgments", 1, answer={"a": 1}), 2,
     {(VOTES, 2): "the answer is not one label"}),
    (changed(LONG, "judgments", 1, item_id={"a": 1}), 2,
     {(VOTES, None): "1 judgments are on items that the study does not have"}),
    (changed(BENCH, "responses", 0, points="five"), 2,
     {("responses.jsonl", 1): "“points” is not 5, as in the rest of the table"}),
    (changed(BENCH, "relevance", 0, prompt=None), 2,
     {("relevance.jsonl", 1): "there is no text “prompt”"}),
    (changed(DPO, "pairs", 1, votes=[{"label": {"a": 1}}]), 2, {}),
    (changed(DPO, "pairs", 1, chosen=None), 1, {("pairs.jsonl", 2): "there is no text “chosen”"}),
    # Messages that a question and two answers cannot hold.
    # A conversation is a question of several turns.
    (changed(DPO, "pairs", 1, prompt=[ASKS, SAYS, ASKS]), 2, {}),
    (changed(DPO, "pairs", 1, prompt=[]), 1,
     {("pairs.jsonl", 2): "“prompt” is not one message of the user"}),
    (changed(DPO, "pairs", 1, rejected=[ASKS]), 1,
     {("pairs.jsonl", 2): "“rejected” is not one message of the assistant"}),
    (changed(DPO, "pairs", 1, chosen=[SAYS | {"content": None}]), 1,
     {("pairs.jsonl", 2): "“chosen” is not one message of the assistant"}),
    (changed(DPO, "pairs", 1, chosen=["C"]), 1,
     {("pairs.jsonl", 2): "“chosen” is no list of messages"}),
    (changed(DPO, "pairs", 1, prompt=[RULE, ASKS]), 1,
     {("pairs.jsonl", 2): "the system message in “prompt” stands in no “persona”"}),
    (changed(DPO, "pairs", 1, prompt=[RULE, ASKS], user_id="1", persona={"Name": "Mina"},
             chosen=[SAYS]), 2, {}),
    # One id twice.
    (changed(LONG, "items", 1, item_id="i1"), 1,
     {(ITEMS, 2): "the item stands in items.jsonl, row 1, already"}),
    (LONG | {"personas": [*LONG["personas"], {"user_id": "1", "profile": {"Name": "Ben"}}]}, 2,
     {("personas.jsonl", 2): "“1” stands for something else in an earlier row"}),
    (changed(LONG, "judgments", 1, worker="w1"), 2,
     {(VOTES, 2): "w1 has given another vote on this item before"}),
    (BENCH | {"responses": BENCH["responses"] * 2}, 3,
     {("responses.jsonl", 2): "the item stands in responses.jsonl, row 1, already"}),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "items", "left_out"), CASES)
def test_what_is_faulty_is_listed_with_its_row_and_the_rest_comes_in(
    tmp_path, db, tables, items, left_out
):
    assert brought(tmp_path, tables) == (items, left_out)


def test_a_release_without_its_answers_is_refused_by_name_and_nothing_is_stored(tmp_path, db):
    with pytest.raises(DomainError, match="the table of answers is missing"):
        brought(tmp_path, without(LONG, "candidates"))
    assert not Study.objects.exists()


GOOD = {"tea-v1/data/specific/hard.jsonl": json.dumps(PAIR) + "\n{\n"}


def packed(files):
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w", zipfile.ZIP_DEFLATED) as target:
        for name, text in files.items():
            target.writestr(name, text)
    return SimpleUploadedFile("release.zip", body.getvalue(), "application/zip")


def test_a_curator_imports_a_zip_and_runs_the_study(cast, tea, _data, login):
    carol = cast.person("Carol")
    browser = login(carol)
    page = reverse("release-import")
    assert browser.post(page, {"file": packed(GOOD), "slug": "brought"}).status_code == 302
    job = ReleaseImport.objects.get()
    assert (job.status, job.by) == ("requested", carol)
    assert "being imported" in browser.get(page).content.decode()
    assert release_import.due() == [job.pk]
    tasks.import_upload(job.pk)
    job.refresh_from_db()
    assert (job.status, job.error) == ("done", "")
    assert job.study.memberships.get().user == carol
    assert not release_import.UPLOADS.path_of(job.public_id.hex).exists()
    words = " ".join(browser.get(page).content.decode().split())
    assert words.count("personafeedback · items: 1 · votes: 0; specific hard 1") == 1
    assert "data/specific/hard.jsonl, 2: the line is no JSON" in words
    assert release_import.due() == []
    tasks.import_upload(job.pk)  # once more changes nothing
    assert Item.objects.filter(study__slug="brought").count() == 1


def test_the_api_takes_a_zip_and_tells_how_it_stands(cast, tea, _data, client):
    key = {"authorization": f"Bearer {ApiToken.issue(cast.person('Carol'))[1]}"}
    answer = client.post(
        "/api/v1/release-imports/", {"file": packed(GOOD), "slug": "brought"}, headers=key
    )
    assert (answer.status_code, answer.json()["status"]) == (202, "requested")
    tasks.import_upload(ReleaseImport.objects.get().pk)
    status = client.get(answer["Location"], headers=key).json()
    assert (status["status"], status["report"]["pairs"]) == ("done", {"specific": {"hard": 1}})
    other = {"authorization": f"Bearer {ApiToken.issue(cast.person('Rui'))[1]}"}
    assert client.get(answer["Location"], headers=other).status_code == 404


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        (None, "The file is no zip that can be read."),
        ({"../../evil.jsonl": "x"}, "The zip holds a path that leads outside of it."),
        ({"notes.txt": "x"}, "holds no release of a known layout"),
        ({"pairs.jsonl": "0" * 2_000_000}, "The zip is too large when it is unpacked."),
        ({"pairs.jsonl": "[]\n"}, "Nothing of the release can be imported"),
    ],
)
def test_a_file_that_cannot_be_imported_leaves_a_sentence_and_no_study(
    cast, tea, _data, settings, files, sentence
):
    settings.IMPORT_UNPACKED_BYTES = 1_000_000
    file = packed(files) if files else SimpleUploadedFile("r.zip", b"PK\x03\x04 no zip")
    job = release_import.request_import(file, "brought", cast.person("Carol"))
    tasks.import_upload(job.pk)
    job.refresh_from_db()
    assert (job.status, sentence in job.error) == ("failed", True)
    assert not Study.objects.filter(slug="brought").exists()
    assert not release_import.UPLOADS.path_of(job.public_id.hex).exists()


def test_a_study_of_others_and_a_wrong_address_are_refused(cast, tea, _data, login):
    cast.study("rain")
    browser = login(cast.person("Carol"))
    for slug, words in (("rain", "There is a study “rain” already."), ("import", "name of a page")):
        answer = browser.post(reverse("release-import"), {"file": packed(GOOD), "slug": slug})
        assert (answer.status_code, words in answer.content.decode()) == (400, True)
    assert browser.post(reverse("release-import"), {"slug": "x"}).status_code == 400
    assert not ReleaseImport.objects.exists()


def test_a_study_that_others_made_since_it_was_asked_for_gets_nothing(cast, tea, _data):
    job = release_import.request_import(packed(GOOD), "rain", cast.person("Carol"))
    rain = cast.study("rain")
    tasks.import_upload(job.pk)
    job.refresh_from_db()
    assert (job.status, job.error) == ("failed", "There is a study “rain” already.")
    assert not rain.items.exists() and not rain.memberships.exists()


def full(*_arguments, **_named):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_a_sentence_on_the_page_and_in_the_api_and_leaves_nothing(
    cast, tea, _data, login, client, monkeypatch
):
    carol = cast.person("Carol")
    browser, key = login(carol), {"authorization": f"Bearer {ApiToken.issue(carol)[1]}"}

    monkeypatch.setattr(os, "fsync", full)
    page = browser.post(reverse("release-import"), {"file": packed(GOOD), "slug": "brought"})
    assert (page.status_code, "disk is full" in page.content.decode()) == (507, True)
    fields = {"file": packed(GOOD), "slug": "brought"}
    problem = client.post("/api/v1/release-imports/", fields, headers=key)
    assert (problem.status_code, problem.json()["code"]) == (507, "disk_full")
    assert not ReleaseImport.objects.exists()
    assert list((_data / "release-imports").iterdir()) == []


def test_a_full_disk_is_a_sentence_where_the_request_is_read_too(cast, tea, login, monkeypatch):
    browser = login(cast.person("Carol"))
    browser.raise_request_exception = False
    monkeypatch.setattr(uploadhandler.MemoryFileUploadHandler, "new_file", full)
    page = browser.post(reverse("release-import"), {"file": packed(GOOD), "slug": "brought"})
    assert (page.status_code, "disk is full" in page.content.decode()) == (507, True)


def test_an_upload_that_had_every_attempt_is_closed_and_its_file_deleted(cast, tea, _data):
    job = release_import.request_import(packed(GOOD), "brought", cast.person("Carol"))
    ReleaseImport.objects.update(attempts=jobs.TRIES)
    assert release_import.due() == []
    job.refresh_from_db()
    assert (job.status, job.error.startswith("The import was not finished")) == ("failed", True)
    assert not release_import.UPLOADS.path_of(job.public_id.hex).exists()
