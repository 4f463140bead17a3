"""A study's document collection: taken in as JSON lines, HTML, PDF, Markdown or plain text."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils.translation import gettext as _
from pgvector import HalfVector

from annotation.accounts.models import User
from annotation.candidates.models import Document, DocumentFile, DocumentPassage
from annotation.candidates.reading import Text
from annotation.celery import app
from annotation.core import audit, foreign, jobs, sql
from annotation.core.embed import embed
from annotation.core.errors import DomainError
from annotation.core.jobs import Lease, TakenOver
from annotation.core.records import chunks
from annotation.core.uploads import scratch_folder
from annotation.histories import search
from annotation.studies.models import Study

FILE_LIMIT = 50 * 2**20
PASSAGE = 1_200
EMBEDDED_AT_ONCE = 500
SHOWN_SKIPPED = 20
READ = "annotation.candidates.tasks.read_documents"
READER = "annotation.candidates.reading:messages"
# What the process that reads even a small file may take of memory: a PDF unfolds.
ROOM = 128 << 20


def _check_size(size: int) -> None:
    if size > FILE_LIMIT:
        sentence = _("A file may have %(n)d MB.") % {"n": FILE_LIMIT // 2**20}
        raise DomainError(sentence, code="too_large", status=413)


def add_documents(
    study: Study,
    name: str,
    data: bytes,
    *,
    by: User | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict:
    """Add the documents of one file to ``study``; ``{"documents", "unchanged", "skipped"}``.

    It takes a second for some hundred kilobytes: pages ask a worker (document_files). ``progress``
    is called with the passages embedded and their number; what it raises ends the work.

    What the file is, is told by its bytes. A document with a known id and another text replaces the
    known one; answers keep the sources they were written from. ``skipped`` lists
    {"where", "reason"}. Raises DomainError with a sentence where the file holds no document at all.
    """
    _check_size(len(data))
    skipped = []
    texts = _texts(PurePath(name).name, data, skipped)
    fields = ("external_id", "title", "url", "text")
    stored = {row[0]: Text(*row) for row in study.documents.values_list(*fields)}
    fresh = [text for text in texts.values() if stored.get(text.id) != text]
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


def _passages(texts: list[Text], progress: Callable[[int, int], None]) -> list[tuple[str, dict]]:
    """The id of the document and the columns of each passage of ``texts``."""
    cut = [(text.id, start, part) for text in texts for start, part in parts(text.text)]
    passages: list[tuple[str, dict]] = []
    for some in chunks(cut, EMBEDDED_AT_ONCE):
        vectors = embed([part for *_, part in some])
        for (document, start, part), vector in zip(some, vectors, strict=True):
            columns = {"start": start, "length": len(part), "words": search.as_tsvector(part)}
            passages.append((document, columns | {"embedding": HalfVector(vector).to_text()}))
        progress(len(passages), len(cut))
    return passages


def _store(study: Study, texts: list[Text], passages: list[tuple[str, dict]]) -> None:
    documents = Document.objects.bulk_create(
        Document(study=study, external_id=text.id, title=text.title, url=text.url, text=text.text)
        for text in texts
    )
    ids = {document.external_id: document.pk for document in documents}
    rows = [
        columns | {"study_id": study.pk, "document_id": ids[document]}
        for document, columns in passages
    ]
    sql.copy(DocumentPassage, rows)


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


def _texts(name: str, data: bytes, skipped: list) -> dict[str, Text]:
    """{id: document} of the file, which a process of its own reads."""
    texts = {}
    with scratch_folder() as scratch:
        path = scratch / "file"
        path.write_bytes(data)
        for message in foreign.read_foreign(READER, path, scratch, ROOM):
            if "reason" in message:
                skipped.append(message)
                continue
            text = Text(**message)
            # A file that is one document has the file's name.
            text = replace(text, id=text.id or name[:200] or "document", title=text.title or name)
            texts[text.id] = text
    return texts


def request_reading(study: Study, file: UploadedFile, by: User) -> DocumentFile:
    """Keep ``file`` and ask a worker to read it. Raises DomainError where it is too large."""
    size, name = file.size or 0, file.name or ""
    _check_size(size)
    with transaction.atomic():
        row = DocumentFile.objects.create(study=study, by=by, name=name[:200], size=size)
        row.file.save("documents", file)
        transaction.on_commit(partial(jobs.enqueue, app.signature(READ), row.pk))
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
        jobs.enqueue(app.signature(READ), pk)


def read_file(pk: int) -> bool:
    """Read one file to its end, if nobody else does: whether it ended. A refusal is in its row."""
    if not jobs.take(DocumentFile.objects.all(), pk):
        return False
    row = DocumentFile.objects.select_related("study", "by").get(pk=pk)
    try:
        with jobs.renewed(row) as lease, row.file.open("rb") as file:
            added = add_documents(
                row.study, row.name, file.read(), by=row.by, progress=_progress(row, lease)
            )
    except TakenOver:
        return False
    except (DomainError, OSError) as error:
        sentence = getattr(error, "sentence", "") or _("The file is gone: add it once more.")
        _end(row, jobs.FAILED, error=sentence)
        return True
    skipped = added["skipped"]
    counts = {"added": added["documents"], "unchanged": added["unchanged"]}
    left_out = {"skipped": skipped[:SHOWN_SKIPPED], "skipped_count": len(skipped)}
    _end(row, DocumentFile.Status.DONE, **counts, **left_out)
    return True


def _progress(row: DocumentFile, lease: Lease) -> Callable[[int, int], None]:
    def note(done: int, total: int) -> None:
        lease.check()
        jobs.held(row).update(done=done, total=total)

    return note


def _end(row: DocumentFile, status: str, **fields: Any) -> None:
    if jobs.end(row, status, file="", **fields):
        row.file.delete(save=False)
