"""Records of one file into rows: the newest copy of a conversation counts, searches are joined.

``store`` runs inside the transaction of its upload. Conversations are written some at a time, and
searches and visits wait in a table of the transaction until they are sorted into days, so memory
does not grow with the file.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self, cast

from django.db import connection
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import sql
from annotation.histories.models import Mark, Message, Passage, Session, Tombstone, Upload
from annotation.histories.records import Conversation, Search, Skipped, Visit

# So many characters of conversations wait for being written.
BATCH = 1_000_000
# So many omissions are kept word for word; a file with more is no history.
SKIPPED_LIMIT = 1_000
# No single statement of an import runs longer.
STATEMENT_SECONDS = 600
DECIDED = ("session_id", "start", "end", "rule", "alias_id", "state")
EARLIEST = datetime.min.replace(tzinfo=UTC)


def digest_of(kind: str, provider: str, external_id: str) -> str:
    """What a tombstone remembers of a session: nothing that can be read."""
    return hashlib.sha256("\0".join([kind, provider, external_id]).encode()).hexdigest()


@dataclass
class Counts:
    """What a file holds, by the rules of counting: each thing once, the newest copy of it."""

    messages: dict = field(default_factory=dict)
    searches: int = 0
    visits: int = 0
    duplicates: int = 0
    skipped: list = field(default_factory=list)
    more_skipped: int = 0
    first: datetime | None = None
    last: datetime | None = None

    def skip(self, where: str, reason: str) -> None:
        """Note one entry that was left out."""
        if len(self.skipped) < SKIPPED_LIMIT:
            self.skipped.append({"where": where[:200], "reason": str(reason)[:300]})
        else:
            self.more_skipped += 1

    def at(self, *times: datetime | None) -> None:
        """Widen the time that the file covers."""
        dates = [time for time in (self.first, self.last, *times) if time]
        self.first, self.last = min(dates, default=None), max(dates, default=None)

    def as_json(self) -> dict:
        """The counts as the command prints them, without what was left out."""
        return {
            "sessions": len(self.messages),
            "messages": sum(self.messages.values()),
            "searches": self.searches,
            "visits": self.visits,
            "duplicates": self.duplicates,
            "first": _iso(self.first),
            "last": _iso(self.last),
        }

    def omissions(self) -> list[dict]:
        """What was left out, and how much more of it."""
        if not self.more_skipped:
            return self.skipped
        more = _("and %(n)d more") % {"n": self.more_skipped}
        return [*self.skipped, {"where": "…", "reason": more}]


def _iso(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat(timespec="seconds") if time else None


def store_records(
    upload: Upload, records: Iterable, alive: Callable[[], None] = lambda: None
) -> Counts:
    """Write all ``records`` for the upload's owner; what was counted.

    Call it inside ``locks.changing``: whatever ``records`` or ``alive`` raise leaves nothing.
    """
    _limit_statements()
    counts = Counts()
    chats, events = _Conversations(upload, counts), _Events(upload, counts)
    with events:
        for record in records:
            if isinstance(record, Conversation):
                chats.add(record)
            elif isinstance(record, Search | Visit):
                events.add(record)
            elif isinstance(record, Skipped):
                counts.skip(record.where, record.reason)
            alive()
        chats.flush()
    events.sort_into_days()
    return counts


def _limit_statements() -> None:
    """Let PostgreSQL end a statement of this transaction that takes too long or has no client.

    Otherwise it would run on after its worker was killed. Only Linux notices a client that is gone.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, true)", [f"{STATEMENT_SECONDS}s"]
        )
        cursor.execute(
            "SELECT set_config('client_connection_check_interval', '10s', true)"
            " WHERE version() LIKE '%linux%'"
        )


class _Conversations:
    """Conversations that wait for being written together."""

    def __init__(self, upload: Upload, counts: Counts) -> None:
        self.upload, self.owner, self.counts = upload, upload.owner, counts
        self.waiting: dict[tuple, Conversation] = {}
        self.size = 0
        self.erased = set() if upload.again else _erased(self.owner)

    def add(self, chat: Conversation) -> None:
        """Count a conversation, and write those that wait where they are many."""
        key = (chat.provider, chat.id)
        if digest_of("chat", *key) in self.erased:
            self.counts.skip(chat.provider, _("erased: you erased this conversation before"))
            return
        if key in self.counts.messages:
            self.counts.duplicates += 1
        self.counts.messages.setdefault(key, 0)
        self.counts.at(*(message.at for message in chat.messages))
        other = self.waiting.get(key)
        if other is None or _age(chat) > _age(other):
            self.waiting[key] = chat
        self.size += sum(len(message.text) for message in chat.messages)
        if self.size > BATCH:
            self.flush()

    def flush(self) -> None:
        """Write what waits: new conversations, and newer copies of those that are here."""
        ids = [external for _provider, external in self.waiting]
        earlier = Session.objects.filter(owner=self.owner, kind="chat", external_id__in=ids)
        here = {(session.provider, session.external_id): session for session in earlier}
        fresh: list[tuple[Session, Conversation]] = []
        replaced: list[tuple[Session, Conversation]] = []
        for key, chat in self.waiting.items():
            session = here.get(key)
            if session and _age(chat) <= _age_of(session):
                self._stays(session, key, chat)
                continue
            (replaced if session else fresh).append((session or _session(self.upload, chat), chat))
            self.counts.messages[key] = len(chat.messages)
        decided = _clear([session for session, _chat in replaced])
        for session, chat in (*fresh, *replaced):
            _fill(session, self.upload, chat)
        Session.objects.bulk_create([session for session, _chat in fresh], batch_size=500)
        for session, _chat in replaced:
            session.save()
        _write_messages([*fresh, *replaced])
        _carry_over(decided)
        self.waiting, self.size = {}, 0

    def _stays(self, session: Session, key: tuple, chat: Conversation) -> None:
        """An older or equal copy, of this very file or of an earlier one."""
        if session.upload_id == self.upload.pk:
            self.counts.messages[key] = session.length
        else:
            self.counts.duplicates += 1
            self.counts.messages[key] = len(chat.messages)


def _erased(owner: User) -> set[str]:
    graves = Tombstone.objects.filter(owner=owner, what=Tombstone.What.SESSION)
    return set(graves.values_list("digest", flat=True))


def _age(chat: Conversation) -> tuple:
    """What decides between two copies: the provider's time of change, then their length."""
    times = [message.at for message in chat.messages if message.at]
    return (chat.updated_at or max(times, default=EARLIEST), len(chat.messages))


def _age_of(session: Session) -> tuple:
    return (session.updated_at or EARLIEST, session.length)


def _session(upload: Upload, chat: Conversation) -> Session:
    return Session(owner=upload.owner, kind="chat", provider=chat.provider, external_id=chat.id)


def _fill(session: Session, upload: Upload, chat: Conversation) -> None:
    """Set a session's fields from its newest copy; new content resets the decision to keep it."""
    times = [message.at for message in chat.messages if message.at]
    updated, length = _age(chat)
    session.upload = upload
    session.title = chat.title
    session.started_at = chat.created_at or min(times, default=None)
    session.ended_at = max(times, default=None) or chat.updated_at
    session.updated_at = None if updated == EARLIEST else updated
    session.time_zone_assumed = chat.time_zone_assumed
    session.flags = list(chat.flags)
    session.length = length
    session.characters = sum(len(message.text) for message in chat.messages)
    session.marked_at = None
    if session.state == Session.State.RETAINED:
        session.state = Session.State.PENDING


def _write_messages(pairs: Iterable[tuple[Session, Conversation]]) -> None:
    sql.copy(
        Message,
        [
            {"session_id": session.pk, "position": position, "role": message.role}
            | {"text": message.text, "at": message.at, "external_id": message.id[:300]}
            | {"attachments": list(message.attachments), "model": message.model[:100]}
            for session, chat in pairs
            for position, message in enumerate(chat.messages)
        ],
    )


def _clear(sessions: list[Session]) -> dict:
    """Delete the messages of older copies; the decisions on their marks, by (session, text)."""
    decisions = defaultdict(list)
    decided = Mark.objects.filter(session__in=sessions, message__isnull=False)
    decided = decided.exclude(state=Mark.State.SUGGESTED).select_related("message")
    for mark in decided:
        message = cast(Message, mark.message)
        key = (mark.session_id, message.role, _text_digest(message.text))
        decisions[key].append(mark)
    for model in (Mark, Passage, Message):
        rows = model.objects.filter(session__in=sessions)
        rows._raw_delete(rows.db)
    return decisions


def _carry_over(decided: dict) -> None:
    """Put decisions on messages that the newer copy has as well."""
    if not decided:
        return
    rows = {}
    sessions = {session for session, _role, _digest in decided}
    for message in Message.objects.filter(session__in=sessions).iterator(chunk_size=500):
        key = (message.session_id, message.role, _text_digest(message.text))
        for mark in decided.get(key, ()):
            copy = Mark(message=message, **{name: getattr(mark, name) for name in DECIDED})
            rows[message.pk, mark.start, mark.end] = copy
    Mark.objects.bulk_create(rows.values(), batch_size=500)


def _text_digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


# --- Searches and visits: one session a day and provider --------------------------------------

_WAITING = """
    CREATE TEMPORARY TABLE history_event (kind text, provider text, day text, at timestamptz,
        text text, assumed boolean, place bigint GENERATED ALWAYS AS IDENTITY) ON COMMIT DROP"""
# The same time and text is one search, within the file and beside what is here. Windows, not joins:
# they sort, and stay n log n however many rows are equal.
_REPEATED = """
    DELETE FROM history_event WHERE place IN (
        SELECT place FROM (
            SELECT place, row_number() OVER (
                PARTITION BY kind, provider, day, at, text COLLATE "C" ORDER BY place) AS copy
            FROM history_event) AS numbered
        WHERE copy > 1)"""
_ERASED = """
    DELETE FROM history_event e USING histories_tombstone t
    WHERE t.owner_id = %(owner)s AND t.what = 'session' AND NOT %(again)s AND t.digest =
        encode(sha256(convert_to(e.kind, 'UTF8') || '\\x00' || convert_to(e.provider, 'UTF8')
                      || '\\x00' || convert_to(e.day, 'UTF8')), 'hex')"""
_COUNT = """
    SELECT count(*) FILTER (WHERE kind = 'search'), count(*) FILTER (WHERE kind = 'visit'),
           coalesce(min(at) FILTER (WHERE kind = 'search'), min(at)),
           coalesce(max(at) FILTER (WHERE kind = 'search'), max(at))
    FROM history_event"""
# Rows that are stored already come in with place 0, which no waiting row has.
_STORED = """
    DELETE FROM history_event WHERE place IN (
        SELECT place FROM (
            SELECT place, min(place) OVER (
                PARTITION BY kind, provider, day, at, text COLLATE "C") AS first_place
            FROM (
                SELECT place, kind, provider, day, at, text FROM history_event
                UNION ALL
                SELECT 0, s.kind, s.provider, s.external_id, m.at, m.text
                FROM histories_session s JOIN histories_message m ON m.session_id = s.id
                WHERE s.owner_id = %(owner)s AND (s.kind, s.provider, s.external_id) IN (
                    SELECT kind, provider, day FROM history_event)) AS both_places) AS compared
        WHERE first_place = 0 AND place > 0)"""
_DAYS = """
    INSERT INTO histories_session (id, owner_id, upload_id, kind, provider, external_id, title,
        time_zone_assumed, flags, length, characters, state)
    SELECT DISTINCT ON (kind, provider, day) gen_random_uuid(), %(owner)s, %(upload)s, kind,
        provider, day, '', false, '[]'::jsonb, 0, 0, 'pending' FROM history_event
    ON CONFLICT (owner_id, kind, provider, external_id) DO NOTHING"""
_ROWS = """
    INSERT INTO histories_message (session_id, position, role, text, at, external_id, attachments,
        model)
    SELECT s.id, s.length - 1 + row_number() OVER (PARTITION BY s.id ORDER BY e.at, e.place),
           'user', e.text, e.at, '', '[]', ''
    FROM history_event e JOIN histories_session s
      ON s.owner_id = %(owner)s AND (s.kind, s.provider, s.external_id) =
         (e.kind, e.provider, e.day)"""
# A day that has grown is to be decided on again.
_SUMS = """
    UPDATE histories_session s SET upload_id = %(upload)s, length = length + n,
        characters = s.characters + e.characters, started_at = least(started_at, first),
        ended_at = greatest(ended_at, last), updated_at = greatest(updated_at, last),
        time_zone_assumed = time_zone_assumed OR assumed, marked_at = NULL,
        state = CASE state WHEN 'kept' THEN 'pending' ELSE state END
    FROM (SELECT kind, provider, day, count(*) n, sum(length(text)) characters, min(at) first,
                 max(at) last, bool_or(assumed) assumed
          FROM history_event GROUP BY kind, provider, day) e
    WHERE s.owner_id = %(owner)s AND (s.kind, s.provider, s.external_id) =
          (e.kind, e.provider, e.day)"""


class _Events:
    """Searches and visits on their way into days; a context manager around their arrival."""

    def __init__(self, upload: Upload, counts: Counts) -> None:
        self.upload, self.counts = upload, counts
        self.rows: list[tuple] = []
        self.seen = 0

    def __enter__(self) -> Self:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS pg_temp.history_event")
            cursor.execute(_WAITING)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self._flush()

    def add(self, event: Search | Visit) -> None:
        """Let one search or visit wait."""
        kind = "search" if isinstance(event, Search) else "visit"
        day = event.at.astimezone(UTC).date().isoformat() if event.at else "undated"
        row = (kind, event.provider, day, event.at, event.text, event.time_zone_assumed)
        self.rows.append(row)
        self.seen += 1
        if len(self.rows) >= 5_000:
            self._flush()

    def _flush(self) -> None:
        columns = "kind, provider, day, at, text, assumed"
        with (
            connection.cursor() as cursor,
            cursor.copy(f"COPY history_event ({columns}) FROM STDIN") as copy,
        ):
            for row in self.rows:
                copy.write_row(row)
        self.rows = []

    def sort_into_days(self) -> None:
        """Join what waits with what is here, each search once, and count it."""
        if not self.seen:
            return
        values: dict[str, Any] = {
            "owner": self.upload.owner_id,
            "upload": self.upload.pk,
            "again": self.upload.again,
        }
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE history_event")
            cursor.execute(_ERASED, values)
            if cursor.rowcount:
                words = _("erased: %(n)d searches of days that you erased before")
                self.counts.skip("…", words % {"n": cursor.rowcount})
            cursor.execute(_REPEATED)
            self.counts.duplicates += cursor.rowcount
            cursor.execute(_COUNT)
            self.counts.searches, self.counts.visits, first, last = cursor.fetchone()
            self.counts.at(first, last)
            cursor.execute(_STORED, values)
            self.counts.duplicates += cursor.rowcount
            for statement in (_DAYS, _ROWS, _SUMS):
                cursor.execute(statement, values)
