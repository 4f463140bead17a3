"""Documents out of a foreign file: JSON lines, HTML, PDF, Markdown or plain text.

It runs in the process that reads the file (core.foreign), and knows no database.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path

import lxml.etree
import lxml.html
from django.utils.translation import gettext as _

from annotation.core import records
from annotation.core.errors import DomainError
from annotation.core.foreign import Limits

TEXT_LIMIT = 2_000_000
TITLE_LIMIT = 300
PDF_PAGES = 2_000
# Lines without a text, from the first on, after which a file is taken to have none.
BLANK = 10_000


@dataclass(frozen=True)
class Text:
    """One document as it was read: its id in the file, title, address and plain text."""

    id: str
    title: str
    url: str
    text: str


def messages(path: Path, scratch: Path, limits: Limits) -> Iterator[dict]:
    """The documents of a file as dicts of Text, and what was left out: "where", "reason".

    What the file is, is told by its bytes. DomainError where it is nothing that can be read. Id and
    title of a file that is one document may be "".
    """
    empty = True
    for number, entry in enumerate(_entries(path.read_bytes())):
        empty &= not isinstance(entry, Text)
        if empty and number == BLANK:
            break
        yield asdict(entry) if isinstance(entry, Text) else entry
    if empty:
        raise DomainError(_("There is no readable text in this file."), code="no_text")


def _entries(data: bytes) -> Iterator[Text | dict]:
    if data.startswith(b"%PDF-"):
        yield from _single(*_pdf(data))
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        raise DomainError(_("The file is neither PDF nor text in UTF-8."), code="encoding")
    head = text.lstrip()[:200].lower()
    if head.startswith("{"):
        yield from _json_lines(text)
    elif head.startswith(("<!doctype", "<html", "<head", "<body", "<?xml", "<!--")):
        yield from _single(*_html(text))
    else:
        first = next((line for line in text.splitlines() if line.strip()), "")
        yield from _single(first.lstrip("# ").strip(), text)


def _single(title: str, text: str) -> Iterator[Text]:
    text = _clean(text)
    if text:
        yield Text("", _clean(title)[:TITLE_LIMIT], "", text)


def _json_lines(text: str) -> Iterator[Text | dict]:
    """Lines ``{"id"?, "title"?, "url"?, "text"}``."""
    for number, row in records.json_lines(BytesIO(text.encode())):
        if isinstance(row, str):
            yield {"where": f"line {number}", "reason": row}
            continue
        if not isinstance(row.get("text"), str):
            yield {"where": f"line {number}", "reason": "there is no “text”"}
            continue
        body = _clean(row["text"])
        if not body:
            yield {"where": f"line {number}", "reason": "the text is empty"}
            continue
        title, url = (_clean(str(row.get(key) or ""))[:TITLE_LIMIT] for key in ("title", "url"))
        digest = hashlib.sha256(body.encode()).hexdigest()[:16]
        yield Text(_clean(str(row.get("id") or digest))[:200], title or body[:80], url, body)


def _html(text: str) -> tuple[str, str]:
    # Entities of a document type are not resolved and nothing is fetched.
    parser = lxml.html.HTMLParser(no_network=True, huge_tree=False)
    try:
        page = lxml.html.document_fromstring(text.encode(), parser=parser)
    except lxml.etree.LxmlError:
        return "", ""
    title = page.findtext(".//title") or ""
    for element in page.xpath("//head|//script|//style|//noscript|//nav|//template"):
        element.drop_tree()
    for element in page.xpath("//p|//li|//h1|//h2|//h3|//h4|//tr|//br|//div"):
        element.tail = f"\n{element.tail or ''}"
    return title, page.text_content()


def _pdf(data: bytes) -> tuple[str, str]:
    from pypdf import PdfReader  # ten megabytes, for who reads a PDF
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(BytesIO(data))
        if reader.is_encrypted:
            raise DomainError(_("The PDF is encrypted."), code="encrypted")
        pages = [page.extract_text() for page in reader.pages[:PDF_PAGES]]
        title = reader.metadata.get("/Title") or "" if reader.metadata else ""
    # pypdf meets hostile files with errors of many kinds besides its own.
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, RecursionError, OSError):
        raise DomainError(_("The PDF cannot be read."), code="pdf") from None
    return str(title), "\n\n".join(pages)


def _clean(text: str) -> str:
    lines = (" ".join(line.split()) for line in records.clean(text).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()[:TEXT_LIMIT]
