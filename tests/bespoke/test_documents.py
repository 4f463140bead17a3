"""A study's collection: what can be read, how it is found, what is refused with a sentence."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfWriter

from annotation.candidates import documents, retrieve
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
    assert "Delete 1 document?" in asked.content.decode()
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
