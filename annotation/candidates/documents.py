"""A study's document collection: taken in as JSON lines, HTML, PDF, Markdown or plain text."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import PurePath
from typing import Any

import lxml.etree
import lxml.html
import numpy as np
from django.core.files.uploadedfile import UploadedFile
from django.db import connection, transaction
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.candidates.models import Document, DocumentFile, DocumentPassage
from annotation.celery import app
from annotation.core import audit, characters, jobs, records
from annotation.core.embed import embed
from annotation.core.errors import DomainError
from annotation.core.jobs import Lease, TakenOver
from annotation.core.rows import chunks
from annotation.histories import search
from annotation.studies.models import Study

FILE_LIMIT = 50 * 2**20
TEXT_LIMIT = 2_000_000
TITLE_LIMIT = 300
PDF_PAGES = 2_000
PASSAGE = 1_200
EMBEDDED_AT_ONCE = 500
SHOWN_SKIPPED = 20
READ = "annotation.candidates.tasks.read_documents"


@dataclass(frozen=True)
class Text:
    """One document as it was read: its id in the file, title, address and plain text."""

    id: str
    title: str
    url: str
    text: str


def too_large() -> DomainError:
    """The refusal of a file beyond FILE_LIMIT."""
    limit = FILE_LIMIT // 2**20
    return DomainError(_("A file may have %(n)d MB.") % {"n": limit}, code="too_large", status=413)


def _silent(done: int, total: int) -> None:
    """Tell nobody of progress."""


def add(
    study: Study,
    name: str,
    data: bytes,
    *,
    by: User | None = None,
    progress: Callable[[int, int], None] = _silent,
) -> dict:
    """Add the documents of one file to ``study``; ``{"documents", "unchanged", "skipped"}``.

    It takes a second for some hundred kilobytes: pages ask a worker (document_files). ``progress``
    is called with the passages embedded and their number; what it raises ends the work.

    What the file is, is told by its bytes. A document with a known id and another text replaces the
    known one; answers keep the sources they were written from. ``skipped`` lists
    {"where", "reason"}. Raises DomainError with a sentence where the file holds no document at all.
    """
    if len(data) > FILE_LIMIT:
        raise too_large()
    skipped = []
    texts = {text.id: text for text in _read(PurePath(name).name, data, skipped)}
    if not texts:
        raise DomainError(_("There is no readable text in this file."), code="no_text")
    stored = {document.external_id: document for document in study.documents.all()}
    fresh = [text for text in texts.values() if not _same(stored.get(text.id), text)]
    # Before the transaction: an open one that only computes holds locks and is ended as idle.
    passages = _passages(fresh, progress)
    with transaction.atomic():
        # Files of one study are stored one after the other.
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        study.documents.filter(external_id__in=[text.id for text in fresh]).delete()
        _store(study, fresh, passages)
        audit.record(by, "documents.add", study, documents=len(fresh))
    return {"documents": len(fresh), "unchanged": len(texts) - len(fresh), "skipped": skipped}


def remove(study: Study, *, by: User | None = None) -> int:
    """Delete the study's documents; how many. Answers keep the sources they were written from."""
    count = study.documents.count()
    study.documents.all().delete()
    audit.record(by, "documents.remove", study, documents=count)
    return count


def _same(stored: Document | None, text: Text) -> bool:
    return stored is not None and (stored.title, stored.url, stored.text) == (
        text.title,
        text.url,
        text.text,
    )


@dataclass(frozen=True)
class Passage:
    """A part of a document as it is stored: where it begins, its text, its embedding as text."""

    document: str
    start: int
    text: str
    embedding: str


def _passages(texts: list[Text], progress: Callable[[int, int], None]) -> list[Passage]:
    cut = [(text.id, start, part) for text in texts for start, part in parts(text.text)]
    passages = []
    for some in chunks(cut, EMBEDDED_AT_ONCE):
        vectors = embed([part for *_, part in some]).astype(np.float16)
        passages += [
            Passage(document, start, part, f"[{','.join(map(str, vector.tolist()))}]")
            for (document, start, part), vector in zip(some, vectors, strict=True)
        ]
        progress(len(passages), len(cut))
    return passages


def _store(study: Study, texts: list[Text], passages: list[Passage]) -> None:
    documents = Document.objects.bulk_create(
        Document(study=study, external_id=text.id, title=text.title, url=text.url, text=text.text)
        for text in texts
    )
    ids = {document.external_id: document.pk for document in documents}
    columns = "study_id, document_id, start, length, words, embedding"
    table = DocumentPassage._meta.db_table
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for passage in passages:
            place = (study.pk, ids[passage.document], passage.start, len(passage.text))
            copy.write_row((*place, search.as_tsvector(passage.text), passage.embedding))


def parts(text: str) -> Iterator[tuple[int, str]]:
    """``text`` in passages of up to PASSAGE characters, cut between paragraphs or words."""
    start = 0
    while start < len(text):
        end = start + PASSAGE
        if end < len(text):
            cut = max(text.rfind("\n\n", start, end), text.rfind(". ", start, end))
            cut = cut if cut > start + PASSAGE // 2 else text.rfind(" ", start, end)
            end = cut + 1 if cut > start else end
        if text[start:end].strip():
            yield start, text[start:end]
        start = end


def _read(name: str, data: bytes, skipped: list) -> Iterator[Text]:
    if data.startswith(b"%PDF-"):
        yield from _single(name, *_pdf(data))
        return
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DomainError(
            _("The file is neither PDF nor text in UTF-8."), code="encoding"
        ) from None
    head = text.lstrip()[:200].lower()
    if head.startswith("{"):
        yield from _json_lines(text, skipped)
    elif head.startswith(("<!doctype", "<html", "<head", "<body", "<?xml", "<!--")):
        yield from _single(name, *_html(text))
    else:
        first = next((line for line in text.splitlines() if line.strip()), "")
        yield from _single(name, first.lstrip("# ").strip(), text)


def _single(name: str, title: str, text: str) -> Iterator[Text]:
    text = _clean(text)
    if text:
        yield Text(name[:200] or "document", _clean(title)[:TITLE_LIMIT] or name, "", text)


def _json_lines(text: str, skipped: list) -> Iterator[Text]:
    """Lines ``{"id"?, "title"?, "url"?, "text"}``."""
    for number, row in records.json_lines(BytesIO(text.encode())):
        if isinstance(row, str):
            skipped.append({"where": f"line {number}", "reason": row})
            continue
        if not isinstance(row.get("text"), str):
            skipped.append({"where": f"line {number}", "reason": "there is no “text”"})
            continue
        body = _clean(row["text"])
        if not body:
            skipped.append({"where": f"line {number}", "reason": "the text is empty"})
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
    lines = (" ".join(line.split()) for line in characters.clean(text).splitlines())
    joined = "\n".join(lines)
    while "\n\n\n" in joined:
        joined = joined.replace("\n\n\n", "\n\n")
    return joined.strip()[:TEXT_LIMIT]


def request_reading(study: Study, file: UploadedFile, by: User) -> DocumentFile:
    """Keep ``file`` and ask a worker to read it. Raises DomainError where it is too large."""
    size, name = file.size or 0, file.name or ""
    if size > FILE_LIMIT:
        raise too_large()
    with transaction.atomic():
        row = DocumentFile.objects.create(study=study, by=by, name=name[:200], size=size)
        row.file.save("documents", file)
        transaction.on_commit(partial(jobs.notify, app.signature(READ), row.pk))
    return row


def notify_unread() -> None:
    """Notify workers of files that nobody reads; close those that were tried too often."""
    rows = DocumentFile.objects.all()
    for row in jobs.exhausted(rows):
        row.file.delete(save=False)
        jobs.exhausted(rows.filter(pk=row.pk)).update(
            status=jobs.FAILED, error=_("The worker stopped while it read this file."), file=""
        )
    for pk in jobs.startable(rows).values_list("pk", flat=True):
        jobs.notify(app.signature(READ), pk)


def read_file(pk: int) -> None:
    """Read one file to its end; a refusal is stored in its row."""
    if not jobs.take(DocumentFile.objects.all(), pk):
        return
    row = DocumentFile.objects.select_related("study", "by").get(pk=pk)
    try:
        with jobs.renewed(row) as lease, row.file.open("rb") as file:
            added = add(row.study, row.name, file.read(), by=row.by, progress=_progress(row, lease))
    except TakenOver:
        return
    except (DomainError, OSError) as error:
        sentence = getattr(error, "sentence", "") or _("The file is gone: add it once more.")
        _end(row, jobs.FAILED, error=sentence)
        return
    skipped = added["skipped"]
    _end(
        row,
        DocumentFile.Status.DONE,
        added=added["documents"],
        unchanged=added["unchanged"],
        skipped=skipped[:SHOWN_SKIPPED],
        skipped_count=len(skipped),
    )


def _progress(row: DocumentFile, lease: Lease) -> Callable[[int, int], None]:
    def note(done: int, total: int) -> None:
        lease.check()
        jobs.held(row).update(done=done, total=total)

    return note


def _end(row: DocumentFile, status: str, **fields: Any) -> None:
    if jobs.end(row, status, file="", **fields):
        row.file.delete(save=False)
