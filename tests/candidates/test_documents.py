"""A study's collection: what can be read, how it is found, what is refused with a sentence."""

import io
from pathlib import Path

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter

from annotation.candidates import documents, retrieve
from annotation.candidates.models import DocumentFile, DocumentPassage
from annotation.core import jobs
from annotation.core.errors import DomainError


def titles(study):
    return sorted(study.documents.values_list("title", flat=True))


def test_json_lines_are_taken_and_bad_lines_named(tea):
    data = b'{"title": "A", "text": "alpha"}\nnot json\n{"title": "B"}\n{"text": " "}\n'
    added = documents.add_documents(tea, "all.jsonl", data)
    assert added == {
        "documents": 1,
        "unchanged": 0,
        "skipped": [
            {"where": "line 2", "reason": "broken JSON (Expecting value, column 1)"},
            {"where": "line 3", "reason": "there is no “text”"},
            {"where": "line 4", "reason": "the text is empty"},
        ],
    }
    assert titles(tea) == ["A"]


def test_a_text_in_json_may_hold_any_end_of_a_line(tea):
    added = documents.add_documents(
        tea, "all.jsonl", '{"text": "One\u2028two\x85three"}\r\n'.encode()
    )
    assert (added["documents"], added["skipped"]) == (1, [])


def test_emptying_the_collection_asks_first(cast, tea, login):
    documents.add_documents(tea, "x.md", b"# Tea")
    page = login(cast.person("Carol"))
    asked = page.post("/studies/tea/sources/clear/")
    assert "Delete 1 document?" in asked.text
    assert tea.documents.count() == 1
    assert page.post("/studies/tea/sources/clear/", {"sure": "1"}).status_code == 302
    assert tea.documents.count() == 0


def test_html_loses_scripts_and_keeps_its_title(tea):
    page = b"<!doctype html><title>Tea</title><script>x()</script><p>Green tea.</p><p>Black.</p>"
    documents.add_documents(tea, "tea.html", page)
    stored = tea.documents.get()
    assert stored.title == "Tea"
    assert stored.text.split() == ["Green", "tea.", "Black."]


def test_markdown_is_titled_by_its_first_line(tea):
    documents.add_documents(tea, "x.md", b"# On tea\n\nSteep it.")
    assert titles(tea) == ["On tea"]


def test_the_same_again_changes_nothing_and_a_changed_text_replaces(tea):
    documents.add_documents(tea, "x.md", b"# Tea\n\nold words")
    assert documents.add_documents(tea, "x.md", b"# Tea\n\nold words")["unchanged"] == 1
    documents.add_documents(tea, "x.md", b"# Tea\n\nnew words")
    assert tea.documents.get().text == "# Tea\n\nnew words"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The night train reaches the sea at six.", "Which train goes to the sea?"),
        ("夜间列车六点到达海边。", "哪趟列车到海边?"),
        ("야간 열차는 여섯 시에 바다에 도착합니다.", "바다로 가는 열차는?"),
    ],
)
def test_a_question_finds_its_document_in_three_languages(tea, text, question):
    documents.add_documents(tea, "other.md", b"Bread wants time and warmth.")
    documents.add_documents(tea, "right.md", text.encode())
    found = retrieve.documents(tea, question, 1)
    assert [one.id for one in found] == ["right.md"]


def test_another_studys_documents_are_not_found(tea, cast):
    documents.add_documents(cast.study("rain"), "x.md", b"The night train reaches the sea.")
    assert retrieve.documents(tea, "night train", 5) == []


@pytest.mark.parametrize(
    "data", [b"", b"   ", b"\xff\xfe\x00", b"%PDF-1.7 nonsense", b"<html></html>"]
)
def test_a_file_without_text_is_refused_with_a_sentence(tea, data):
    with pytest.raises(DomainError):
        documents.add_documents(tea, "x", data)
    assert not tea.documents.exists()


def test_an_encrypted_pdf_is_named(tea):
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret")
    file = io.BytesIO()
    writer.write(file)
    with pytest.raises(DomainError, match="encrypted"):
        documents.add_documents(tea, "x.pdf", file.getvalue())


@given(st.text(max_size=5000))
def test_passages_hold_the_whole_text_in_order(text):
    parts = list(documents.parts(text))
    assert all(text[start : start + len(part)] == part for start, part in parts)
    assert "".join("".join(part for _, part in parts).split()) == "".join(text.split())


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
    assert "tea.md" in carol.get("/studies/tea/sources/").text
    path = Path(row.file.path)
    documents.read_file(row.pk)
    row.refresh_from_db()
    assert (row.status, row.added, row.done, row.total, bool(row.file)) == ("done", 1, 1, 1, False)
    assert tea.documents.get().title == "Tea"
    assert not path.exists()
    assert "1 document was added" in carol.get("/studies/tea/sources/").text


def test_the_list_of_files_is_fetched_alone_while_one_is_read(tea, carol):
    send(carol, b"# Tea")
    part = carol.get("/studies/tea/sources/", headers={"HX-Request": "true"}).text
    assert part.strip().startswith("<section")
    assert 'hx-trigger="every 2s"' in part
    documents.read_file(DocumentFile.objects.get().pk)
    part = carol.get("/studies/tea/sources/", headers={"HX-Request": "true"}).text
    assert "hx-trigger" not in part


def test_a_file_too_large_is_refused_with_a_sentence(tea, carol, monkeypatch):
    monkeypatch.setattr(documents, "FILE_LIMIT", 10)
    answer = send(carol, b"x" * 11)
    assert (answer.status_code, DocumentFile.objects.count()) == (400, 0)
    assert "A file may have 0 MB." in answer.text


def test_a_file_without_text_ends_with_its_sentence(tea, carol):
    send(carol, b"\xff\xfe\x00broken")
    row = DocumentFile.objects.get()
    documents.read_file(row.pk)
    row.refresh_from_db()
    assert (row.status, row.error) == ("failed", "The file is neither PDF nor text in UTF-8.")
    assert row.error in carol.get("/studies/tea/sources/").text


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
