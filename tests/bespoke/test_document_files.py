"""Files of documents are read by a worker: a page only keeps them."""

from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from annotation.candidates import documents
from annotation.candidates.models import DocumentFile, DocumentPassage
from annotation.core import jobs

ADD = "/studies/tea/sources/add/"


@pytest.fixture
def carol(cast, tea, login):
    return login(cast.member("Carol", tea, "curator"))


def send(browser, data: bytes, name: str = "tea.md"):
    return browser.post(ADD, {"file": SimpleUploadedFile(name, data)})


def test_a_page_keeps_the_file_and_a_worker_reads_it(tea, carol):
    assert send(carol, b"# Tea\n\nSteep it.").status_code == 302
    row = DocumentFile.objects.get()
    assert (row.status, row.name, row.file.size) == ("requested", "tea.md", 16)
    assert tea.documents.count() == 0
    assert "tea.md" in carol.get("/studies/tea/sources/").content.decode()
    path = Path(row.file.path)
    documents.read_file(row.pk)
    row.refresh_from_db()
    assert (row.status, row.added, row.done, row.total, bool(row.file)) == ("done", 1, 1, 1, False)
    assert tea.documents.get().title == "Tea"
    assert not path.exists()
    assert "1 document was added" in carol.get("/studies/tea/sources/").content.decode()


def test_the_list_of_files_is_fetched_alone_while_one_is_read(tea, carol):
    send(carol, b"# Tea")
    part = carol.get("/studies/tea/sources/", headers={"HX-Request": "true"}).content.decode()
    assert part.strip().startswith("<section")
    assert 'hx-trigger="every 2s"' in part
    documents.read_file(DocumentFile.objects.get().pk)
    part = carol.get("/studies/tea/sources/", headers={"HX-Request": "true"}).content.decode()
    assert "hx-trigger" not in part


def test_a_file_too_large_is_refused_with_a_sentence(tea, carol, monkeypatch):
    monkeypatch.setattr(documents, "FILE_LIMIT", 10)
    answer = send(carol, b"x" * 11)
    assert (answer.status_code, DocumentFile.objects.count()) == (400, 0)
    assert "A file may have 0 MB." in answer.content.decode()


def test_a_file_without_text_ends_with_its_sentence(tea, carol):
    send(carol, b"\xff\xfe\x00broken")
    row = DocumentFile.objects.get()
    documents.read_file(row.pk)
    row.refresh_from_db()
    assert (row.status, row.error) == ("failed", "The file is neither PDF nor text in UTF-8.")
    assert row.error in carol.get("/studies/tea/sources/").content.decode()


def test_a_file_whose_worker_dies_each_time_is_closed_in_words(tea, carol):
    send(carol, b"# Tea")
    DocumentFile.objects.update(
        attempts=jobs.TRIES, status="running", lease_expires_at="2020-01-01T00:00Z"
    )
    documents.notify_unread()
    row = DocumentFile.objects.get()
    assert (row.status, row.error) == ("failed", "The worker stopped while it read this file.")


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_passages_are_embedded(cast, monkeypatch):
    """Under the web server's limits an idle transaction is ended, with a 500."""
    tea, embed, in_transaction = cast.study("tea"), documents.embed, []

    def watched(texts):
        in_transaction.append(connection.in_atomic_block)
        return embed(texts)

    monkeypatch.setattr(documents, "embed", watched)
    documents.add_documents(tea, "x.md", b"# Tea\n\nSteep it.")
    assert (in_transaction, DocumentPassage.objects.count()) == ([False], 1)
