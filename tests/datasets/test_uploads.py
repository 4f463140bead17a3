"""A zipped release, sent by page or API, becomes a study of whoever sent it."""

import errno
import io
import json
import os
import zipfile

import pytest
from django.core.files import uploadhandler
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from annotation.accounts.models import ApiToken
from annotation.core import jobs
from annotation.datasets import release_import, tasks
from annotation.datasets.models import ReleaseImport
from annotation.judging.models import Item
from annotation.studies.models import Study

PAIR = {"user_id": "1", "question": "What?", "chosen": "Tea.", "reject": "Cars."}
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
    assert not release_import.path_of(job).exists()
    words = browser.get(page).content.decode()
    assert " ".join(words.split()).count("personafeedback: 1 items, 0 votes; specific hard 1") == 1
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
    cast, tea, _data, monkeypatch, files, sentence
):
    monkeypatch.setattr(release_import, "CONTENT_LIMIT", 1_000_000)
    file = packed(files) if files else SimpleUploadedFile("r.zip", b"PK\x03\x04 no zip")
    job = release_import.request_import(file, "brought", cast.person("Carol"))
    tasks.import_upload(job.pk)
    job.refresh_from_db()
    assert (job.status, sentence in job.error) == ("failed", True)
    assert not Study.objects.filter(slug="brought").exists()
    assert not release_import.path_of(job).exists()


def test_a_study_of_others_and_a_wrong_address_are_refused(cast, tea, _data, login):
    cast.study("rain")
    browser = login(cast.person("Carol"))
    for slug, words in (("rain", "There is a study “rain” already."), ("import", "name of a page")):
        answer = browser.post(reverse("release-import"), {"file": packed(GOOD), "slug": slug})
        assert (answer.status_code, words in answer.content.decode()) == (400, True)
    assert browser.post(reverse("release-import"), {"slug": "x"}).status_code == 400
    assert not ReleaseImport.objects.exists()


def test_a_full_disk_is_a_sentence_on_the_page_and_in_the_api_and_leaves_nothing(
    cast, tea, _data, login, client, monkeypatch
):
    carol = cast.person("Carol")
    browser, key = login(carol), {"authorization": f"Bearer {ApiToken.issue(carol)[1]}"}

    def full(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    page = browser.post(reverse("release-import"), {"file": packed(GOOD), "slug": "brought"})
    assert (page.status_code, "disk is full" in page.content.decode()) == (507, True)
    fields = {"file": packed(GOOD), "slug": "brought"}
    problem = client.post("/api/v1/release-imports/", fields, headers=key)
    assert (problem.status_code, problem.json()["code"]) == (507, "disk_full")
    assert not ReleaseImport.objects.exists()
    assert list((_data / "release-imports").iterdir()) == []


def test_a_full_disk_is_a_sentence_where_the_request_is_read_too(cast, tea, login, monkeypatch):
    def full(*_arguments, **_named):
        raise OSError(errno.ENOSPC, "No space left on device")

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
    assert not release_import.path_of(job).exists()
