"""Uploads of history files: received whole or in pieces, then read as a job.

The rows of a file appear together or not at all. What follows, marking and indexing, goes some
sessions at a time and is taken up again where it stopped; until then nobody can keep a session.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, OperationalError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import get_language, gettext_noop
from django.utils.translation import gettext as _

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.core import audit, foreign, jobs, sharing, uploads
from annotation.core.errors import Conflict, DomainError, NotFound
from annotation.core.jobs import Lease, TakenOver
from annotation.core.uploads import PIECE, scratch_folder
from annotation.histories import marks, redact, search, texts
from annotation.histories.models import (
    Erasure,
    Message,
    Passage,
    Session,
    Tombstone,
    Upload,
    changing,
)
from annotation.histories.records import Record, unpacked
from annotation.histories.store import STATEMENT_SECONDS, Counts, store_records

FILES = Upload.FILES
NAME_LIMIT = 200
# What sending a file means; agreed to by sending it.
STORING = gettext_noop(
    "I send a history that is my own. It is stored on this server, I alone see it, and it is used "
    "in a study only as far as I keep its sessions and allow a purpose. I can erase all of it at "
    "any time."
)
log = logging.getLogger(__name__)
# Progress is written, and a cancelled upload noticed, so often.
TELL_SECONDS = 1
READER = "annotation.histories.formats:messages"
# What the process that reads even a small file may take of memory.
ROOM = 192 << 20
# A file that nobody finishes sending, or asks about again, is deleted after this.
PATIENCE = timedelta(days=1)
# Sessions that are marked in one transaction: so many, or so many characters.
MARKED_AT_ONCE, CHARACTERS_AT_ONCE = 50, 500_000
Status = Upload.Status


def begin(owner: User, size: int, fingerprint: str = "", name: str = "") -> Upload:
    """Make room for a file of ``size`` bytes that comes in pieces, as ``core.uploads``."""
    make = partial(_create, owner, name)
    return FILES.begin(_under_way(owner), make, size, fingerprint)


def append(owner: User, pk: UUID | str, offset: int, data: bytes) -> Upload:
    """Add one piece, as ``core.uploads``; the last one requests the reading."""
    return FILES.append(Upload.objects.filter(owner=owner), pk, offset, data)


def whole(owner: User, file: UploadedFile) -> Upload:
    """Take a file that came in one form; its reading is requested."""
    make = partial(_create, owner, file.name)
    return FILES.whole(_under_way(owner), make, file.size or 0, file.chunks(PIECE))


def of_path(owner: User, path: Path) -> Upload:
    """Copy a file of this machine into an upload that its caller reads at once.

    For operators, who ask the owner for consent themselves.
    """
    make, size = partial(_create, owner, ""), path.stat().st_size
    with path.open("rb") as source:
        pieces = iter(lambda: source.read(PIECE), b"")
        return FILES.whole(_under_way(owner), make, size, pieces)


def _under_way(owner: User) -> QuerySet[Upload]:
    """The files that are under way; Conflict while the history is being erased."""
    if Erasure.objects.filter(owner=owner, done_at=None).exists():
        raise Conflict(_("Your history is being erased. Try again in a minute."), code="erasing")
    return Upload.objects.filter(owner=owner, status__in=Upload.UNDER_WAY)


def _create(owner: User, name: str | None, **fields: Any) -> Upload:
    name = texts.name(name)[:NAME_LIMIT]
    fields |= {"name": name, "language": get_language() or ""}
    upload = Upload.objects.create(owner=owner, **fields)
    agree(owner)
    audit.record(owner, "history.upload", upload)
    return upload


def cancel_upload(owner: User, pk: UUID | str) -> None:
    """Give up a file that nothing is stored of yet; its bytes are deleted, its reading stops."""
    with transaction.atomic():
        rows = Upload.objects.select_for_update(no_key=True).filter(owner=owner, pk=pk)
        upload = rows.filter(status__in=Upload.UNDER_WAY, stored_at=None).first()
        if upload is None:
            raise NotFound(_("There is no such upload under way."))
        _close(upload, Status.CANCELLED)


def retry_upload(owner: User, pk: UUID | str) -> Upload:
    """Import a file although its owner erased it before: they confirmed it."""
    waiting = Upload.objects.filter(owner=owner, pk=pk, status=Upload.Status.ERASED_BEFORE)
    if not waiting.exclude(stored="").update(status=Status.REQUESTED, again=True, attempts=0):
        raise NotFound(_("There is no such upload under way."))
    upload = Upload.objects.get(pk=pk)
    audit.record(owner, "history.again", upload)
    return upload


def agree(owner: User) -> None:
    """Record that ``owner`` agrees to what sending a file means."""
    consent.grant(owner, consent.publish("history: storing", STORING))


def run(upload_id: UUID | str) -> Upload | None:
    """Read one requested upload to its end; the row, or None where somebody else has it.

    A refusal is stored in the row. A killed process leaves the row leased, and ``due`` offers it
    again: what was stored in part is gone with its transaction.
    """
    upload = _claim(upload_id)
    if upload is None:
        return None
    try:
        with jobs.renewed(upload, every=TELL_SECONDS) as lease, _spoken_to(upload):
            if upload.stored_at is None:
                _read(upload, lease)
            if upload.status == Status.RUNNING:
                _mark(upload, lease)
    except TakenOver:
        return None
    except DomainError as refusal:
        _refuse(upload, refusal)
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") != "57014":  # query_canceled: the time limit
            raise
        with _spoken_to(upload):
            sentence = _("The file took longer than %(n)d minutes to be stored. Send a part of it.")
        _refuse(upload, DomainError(sentence % {"n": STATEMENT_SECONDS // 60}, code="too_long"))
    upload.refresh_from_db()
    return upload


def _refuse(upload: Upload, refusal: DomainError) -> None:
    with suppress(TakenOver):  # it may be cancelled, and so its file is gone
        _end(upload, Status.FAILED, error_code=refusal.code, error=refusal.sentence)
    FILES.delete(upload.stored)


def uploads_due() -> list[UUID]:
    """Uploads that nobody reads; what was tried too often or waits too long is closed first."""
    for upload in jobs.exhausted(Upload.objects.all()):
        with _spoken_to(upload):
            sentence = _(
                "The file could not be read in %(n)d attempts. Please tell whoever runs this "
                "server."
            )
        error = {"error_code": "worker_lost", "error": sentence % {"n": jobs.TRIES}}
        _close(upload, Status.FAILED, **error)
    forgotten = Upload.objects.filter(status__in=(Status.RECEIVING, Status.ERASED_BEFORE))
    for upload in forgotten.filter(created_at__lt=Now() - PATIENCE):
        with _spoken_to(upload):
            sentence = _("The file was not sent to its end.")
        _close(upload, Status.CANCELLED, error_code="abandoned", error=sentence)
    stored = Upload.objects.exclude(stored="").values_list("stored", flat=True)
    FILES.sweep(set(stored), PATIENCE.total_seconds())
    waiting = jobs.startable(Upload.objects.all())
    return list(waiting.order_by("created_at").values_list("pk", flat=True))


def preview_upload(owner: User, path: Path) -> tuple[str, Counts]:
    """What importing the file at ``path`` would give: its source and counts. Stores nothing."""
    with changing(owner), reading_of(path) as (source, records):
        upload = Upload.objects.create(owner=owner, size=path.stat().st_size)
        counts = store_records(upload, records)
        transaction.set_rollback(True)
    return source, counts


def _close(upload: Upload, status: str, **fields: str) -> None:
    """Close an upload that nobody reads, unless its status has changed; its bytes are deleted."""
    rows = Upload.objects.filter(pk=upload.pk, status=upload.status)
    fields |= {"status": status, "stored": ""}
    if rows.update(lease_expires_at=None, finished_at=Now(), **fields):
        FILES.delete(upload.stored)


def _spoken_to(upload: Upload) -> AbstractContextManager:
    """A context in which sentences are in the language of whoever sent the file."""
    return translation.override(upload.language or settings.LANGUAGE_CODE)


def _claim(upload_id: UUID | str) -> Upload | None:
    taken = jobs.take(Upload.objects.all(), upload_id)
    return Upload.objects.select_related("owner").get(pk=upload_id) if taken else None


def _end(upload: Upload, status: str, **fields: Any) -> None:
    upload.status = status
    if not jobs.end(upload, status, **{"stored": "", "finished_at": Now(), **fields}):
        raise TakenOver


def _read(upload: Upload, lease: Lease) -> None:
    """All rows of the file in one transaction; then its bytes are no longer needed."""

    def note_progress(done: int) -> None:
        lease.fields["progress"] = done
        lease.check()

    try:
        path = sharing.gather(FILES.path_of(upload.stored))
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (FileNotFoundError, ValueError) as error:
        raise DomainError(uploads.lost(), code="file_lost") from error
    if _close_repeated(upload, digest):
        return
    with changing(upload.owner, patiently=True):
        lease.check()
        with reading_of(path, note_progress) as (source, records):
            counts = store_records(upload, records, lease.check)
        stored = jobs.held(upload).update(
            stored_at=Now(),
            source=source[:60],
            counts=counts.as_json(),
            skipped=counts.omissions(),
            stored="",
            progress=upload.size,
        )
        if not stored:
            raise TakenOver
    FILES.delete(upload.stored)


def _close_repeated(upload: Upload, digest: str) -> bool:
    """Close an upload whose bytes were imported, or erased, before; note the digest otherwise."""
    same = Upload.objects.filter(owner=upload.owner, sha256=digest).exclude(pk=upload.pk)
    earlier = same.filter(status=Status.DONE).first()
    grave = Tombstone.objects.filter(owner=upload.owner, what=Tombstone.What.UPLOAD, digest=digest)
    if not earlier and grave.exists() and not upload.again:
        # The bytes stay until their owner answers, at most PATIENCE.
        _end(upload, Status.ERASED_BEFORE, stored=upload.stored)
        return True
    if not earlier:
        try:
            with transaction.atomic():
                if not jobs.held(upload).update(sha256=digest):
                    raise TakenOver
            return False
        except IntegrityError:  # the same bytes are being read by another worker
            log.info("upload %s: the same bytes are being read", upload.pk)
    fields = {}
    if earlier:
        counts = earlier.counts
        counts["duplicates"] = counts["sessions"] + counts["searches"] + counts["duplicates"]
        fields = {"counts": counts, "source": earlier.source, "skipped": earlier.skipped}
    _end(upload, Status.DUPLICATE, **fields)
    FILES.delete(upload.stored)
    return True


def _mark(upload: Upload, lease: Lease) -> None:
    """Mark and index the upload's sessions, some at a time, until none is left."""
    while True:
        lease.check()
        with changing(upload.owner, patiently=True):
            sessions = _portion(upload.sessions.filter(marked_at=None).order_by("pk"))
            if not sessions:
                _end(upload, Status.DONE)
                return
            rows = _rows(sessions, only_unseen=True)
            marks.suggest(upload.owner, rows)
            search.index(upload.owner, rows)
            done = Session.objects.filter(pk__in=[session.pk for session in sessions])
            done.update(marked_at=Now(), rules=redact.RULES)


def look_again(seconds: float) -> int:
    """Look with the present rules through sessions that older ones looked through; how many.

    Goes some sessions at a time, for at most about ``seconds``. What is found is hidden from others
    at once, and stands on a list for its owner (``marks.late``).
    """
    end, count = time.monotonic() + seconds, 0
    old = Session.objects.filter(rules__lt=redact.RULES, marked_at__isnull=False)
    # Oldest first; an owner whose history is being read just now comes another time.
    for owner in User.objects.filter(pk__in=old.order_by("owner").values("owner").distinct()):
        with suppress(Conflict):
            while time.monotonic() < end and (looked := _look_again(owner, old)):
                count += looked
    return count


def _look_again(owner: User, old: QuerySet[Session]) -> int:
    with changing(owner):
        sessions = _portion(old.filter(owner=owner).order_by("pk"))
        if rows := _rows(sessions):
            marks.suggest(owner, rows, is_late=True)
        some = Session.objects.filter(pk__in=[session.pk for session in sessions])
        return some.update(rules=redact.RULES)


def _rows(sessions: list[Session], only_unseen: bool = False) -> list[marks.Row]:
    """Titles and messages; ``only_unseen``: those that search does not know yet."""
    titles = [(row.pk, None, row.title) for row in sessions if row.title]
    messages = Message.objects.filter(session__in=sessions).order_by("pk")
    if only_unseen:
        of_titles = Passage.objects.filter(session__in=sessions, message=None)
        titled = set(of_titles.values_list("session_id", flat=True))
        titles = [row for row in titles if row[0] not in titled]
        messages = messages.filter(~Exists(Passage.objects.filter(message=OuterRef("pk"))))
    return titles + list(messages.values_list("session_id", "pk", "text"))


def _portion(waiting: QuerySet[Session]) -> list[Session]:
    """The first of ``waiting``, as many as are marked in one transaction."""
    taken: list[Session] = []
    size = 0
    for session in waiting[:MARKED_AT_ONCE]:
        size += session.characters
        if taken and size > CHARACTERS_AT_ONCE:
            break
        taken.append(session)
    return taken


@contextmanager
def reading_of(
    path: Path, progress: Callable[[int], None] = lambda done: None
) -> Iterator[tuple[str, Iterator[Record]]]:
    """The export in the file ``path``, as another process reads it: its source, and its records.

    DomainError where it cannot be read, or goes too far.
    """
    with (
        scratch_folder() as scratch,
        closing(foreign.read_foreign(READER, path, scratch, ROOM)) as messages,
    ):
        yield next(messages)["source"], _records(messages, progress)


def _records(messages: Iterator[Any], progress: Callable[[int], None]) -> Iterator[Record]:
    for message in messages:
        if isinstance(message, list):
            yield unpacked(message)
        else:
            progress(message["done"])
