"""What owners erase: sessions, files or all, for good; and what was erased leaves the files.

An operator who erases an account erases its history, too.

Each erasure is also written to a list beside the database: whoever restores an older backup calls
``replay``, and what was erased since is erased again.

PostgreSQL keeps the bytes of a deleted row until their place is needed, and in its write-ahead log
until that is removed: tables are written anew, and older WAL goes. ``wal_recycle`` must be off, or
log files are kept for another use.
"""

import json
import logging
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.db import DatabaseError, OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from annotation.accounts.models import ApiToken, User
from annotation.core import audit, sharing
from annotation.core.errors import Conflict
from annotation.core.models import Heartbeat
from annotation.core.records import chunks
from annotation.histories import consent
from annotation.histories.models import (
    Alias,
    Erasure,
    Mark,
    Message,
    NamesWord,
    Passage,
    Session,
    Tombstone,
    Upload,
    changing,
)
from annotation.histories.store import digest_of
from annotation.studies.models import Invitation

SESSIONS_AT_ONCE = 500
log = logging.getLogger(__name__)
REWRITTEN = "history-rewrite"
# People are told 24 hours; the task looks every hour.
EVERY = timedelta(hours=20)
TABLES = [
    model._meta.db_table for model in (Upload, Session, Message, Mark, Alias, NamesWord, Passage)
]
# Whoever reads a history waits while its table is written; nobody waits behind us for longer.
LOCK = "10s"


def forget(user: User) -> Erasure:
    """Withdraw every consent, stop what is being read, and erase ``user``'s whole history.

    From the moment of the call nothing of it is used. Where a file is being read the rows go as
    soon as that has stopped, at the latest with the next ``go_on``. The person may send files
    again later.
    """
    with transaction.atomic():
        erasure, made = Erasure.objects.get_or_create(owner=user, done_at=None)
        consent.withdraw_all(user)
        # Nothing waits for this: who reads a file learns of it within a second.
        _stop(Upload.objects.filter(owner=user))
        if made:
            audit.record(user, "history.forget", erasure, user=user.pk)
    _note(user, "all")
    # It is being read, or too large for the time a page has: `go_on` takes it up.
    with suppress(Conflict, OperationalError):
        _finish(erasure)
    erasure.refresh_from_db()
    return erasure


def account(user: User) -> None:
    """Erase a closed account: history, name, addresses, factors and tokens, for good.

    What the person judged stays, with a number alone.
    """
    forget(user)
    _note(user, "account")
    _erase_account(user)


@transaction.atomic
def _erase_account(user: User) -> None:
    sent = Q(accepted_by=user) | Q(email__iexact=user.email) if user.email else Q(accepted_by=user)
    Invitation.objects.filter(sent).delete()
    for model in (EmailAddress, Authenticator, SocialAccount, UserSession, ApiToken):
        model.objects.filter(user=user).delete()
    nobody = {"email": None, "name": "", "worker": None, "language": "", "reads": None}
    shut = {"is_active": False, "is_superuser": False, "password": make_password(None)}
    User.objects.filter(pk=user.pk).update(**nobody, **shut)


def go_on() -> None:
    """Finish erasures that had to wait."""
    for erasure in Erasure.objects.filter(done_at=None).select_related("owner"):
        with suppress(Conflict):
            _finish(erasure)


def pending(user: User) -> bool:
    """Whether ``user``'s history is still being erased."""
    return Erasure.objects.filter(owner=user, done_at=None).exists()


def upload(owner: User, row: Upload) -> int:
    """Erase one upload with the sessions whose newest copy it brought; how many."""
    with changing(owner):
        count = row.sessions.count()
        _stop(Upload.objects.filter(pk=row.pk))
        _note(owner, "upload", _stored([row]))
        _erase_uploads(owner, Upload.objects.filter(owner=owner, pk=row.pk))
        audit.record(owner, "history.erase", row)
    return count


def sessions(owner: User, which: QuerySet[Session] | Iterable[UUID]) -> int:
    """Erase sessions (a queryset, or their ids) for good; how many.

    A file that holds them again does not bring them back.
    """
    with changing(owner):
        gone = list(Session.objects.filter(owner=owner, pk__in=cast(Any, which)))
        digests = [digest_of(row.kind, row.provider, row.external_id) for row in gone]
        _note(owner, "session", digests)
        _bury(owner, Tombstone.What.SESSION, digests)
        _erase_sessions(owner, Session.objects.filter(pk__in=[row.pk for row in gone]))
        for row in gone:
            audit.record(owner, "history.erase", row)
    return len(gone)


def replay() -> int:
    """Erase again what the list says was erased, after a restore; how many entries were done."""
    entries = sharing.lines(_list())
    for entry in map(json.loads, entries):
        user = User.objects.filter(pk=entry["user"]).first()
        if user is not None:
            _again(user, entry)
    return len(entries)


def _again(user: User, entry: dict) -> None:
    at = datetime.fromisoformat(entry["at"])
    old = Upload.objects.filter(owner=user, created_at__lte=at)
    with changing(user, patiently=True):
        if entry["what"] == "all":
            consent.withdraw_all(user, until=at)
            _erase_uploads(user, old)
            # Who came back since has made others, which have no time of their own.
            if not Upload.objects.filter(owner=user).exists():
                _erase_words(user)
        elif entry["what"] == "upload":
            _erase_uploads(user, old.filter(sha256__in=entry["digests"]))
        elif entry["what"] == "account":
            if user.created_at <= at:  # not somebody who came later, of the same number
                _erase_account(user)
        else:
            digests = set(entry["digests"])
            _bury(user, Tombstone.What.SESSION, digests)
            earlier = Session.objects.filter(owner=user, upload__created_at__lte=at)
            named = [
                session.pk
                for session in earlier.iterator(chunk_size=1000)
                if digest_of(session.kind, session.provider, session.external_id) in digests
            ]
            _erase_sessions(user, Session.objects.filter(pk__in=named))


def _finish(erasure: Erasure) -> None:
    user = erasure.owner
    with changing(user):
        # Whatever came between the request and now goes as well.
        _stop(Upload.objects.filter(owner=user))
        _erase_uploads(user, Upload.objects.filter(owner=user))
        _erase_words(user)
        Erasure.objects.filter(pk=erasure.pk).update(done_at=Now())
        audit.record(user, "history.forgotten", erasure, user=user.pk)


def _erase_words(user: User) -> None:
    for model in (NamesWord, Alias):
        model.objects.filter(owner=user).delete()


def _stop(uploads: QuerySet) -> None:
    uploads.filter(status__in=Upload.UNDER_WAY).update(
        status=Upload.Status.CANCELLED, lease_expires_at=None, finished_at=Now()
    )


def _erase_uploads(owner: User, uploads: QuerySet) -> None:
    """Delete uploads with their files and sessions; call it inside ``changing``."""
    rows = list(uploads)
    _bury(owner, Tombstone.What.UPLOAD, _stored(rows))
    _erase_sessions(owner, Session.objects.filter(owner=owner, upload__in=rows))
    for row in rows:
        Upload.FILES.delete(row.stored)
    uploads.delete()


def _stored(uploads: Iterable[Upload]) -> list[str]:
    """The digests of files that something was stored of: a refused one may come again unasked."""
    return [upload.sha256 for upload in uploads if upload.sha256 and upload.stored_at]


def _erase_sessions(owner: User, gone: QuerySet) -> None:
    """Delete sessions: their many rows at once, and what other apps made of them by cascade."""
    consent.taken_back.send(Session, owner=owner, sessions=gone)
    ids = list(gone.values_list("pk", flat=True))
    # Some at a time: a statement of a page may take seconds only.
    for some in chunks(ids, SESSIONS_AT_ONCE):
        for model in (Mark, Passage, Message):
            rows = model.objects.filter(session__in=some)
            rows._raw_delete(rows.db)
        Session.objects.filter(pk__in=some).delete()


def _bury(owner: User, what: str, digests: Iterable[str]) -> None:
    graves = [Tombstone(owner=owner, what=what, digest=digest) for digest in set(digests)]
    Tombstone.objects.bulk_create(graves, batch_size=500, ignore_conflicts=True)


def _list() -> Path:
    return settings.DATA / "erased.jsonl"


def _note(owner: User, what: str, digests: Iterable[str] = ()) -> None:
    """Add a line to the list: a person's number, what was erased and when; nothing of content."""
    at = timezone.now().astimezone(UTC).isoformat()
    line = {"user": owner.pk, "at": at, "what": what, "digests": sorted(digests)}
    sharing.append(_list(), json.dumps(line))


def is_due() -> bool:
    """Whether something was erased since the tables were written anew, EVERY ago or longer."""
    last = Heartbeat.objects.filter(name=REWRITTEN).values_list("at", flat=True).first()
    if last and last > timezone.now() - EVERY:
        return False
    parts, wholes = Tombstone.objects.all(), Erasure.objects.exclude(done_at=None)
    if last:
        parts, wholes = parts.filter(erased_at__gt=last), wholes.filter(done_at__gt=last)
    return parts.exists() or wholes.exists()


def rewrite() -> bool:
    """Write the tables anew and let older WAL go; whether that was done. Not in a transaction.

    Where a table is in use, or the database's role may not, it is tried again with the next call.
    """
    begun = timezone.now()
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, false)", [LOCK])
            try:
                for table in TABLES:
                    cursor.execute(f"VACUUM (FULL) {connection.ops.quote_name(table)}")
                cursor.execute("SELECT pg_switch_wal()")
                cursor.execute("CHECKPOINT")
            finally:
                cursor.execute("RESET lock_timeout")
    except DatabaseError as error:
        log.warning("erased histories are not yet out of the database's files: %s", error)
        return False
    Heartbeat.objects.update_or_create(name=REWRITTEN, defaults={"at": begun})
    return True
