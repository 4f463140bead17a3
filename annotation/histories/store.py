"""Records of one file into rows: the newest copy of a conversation counts, searches are joined.

``store_records`` runs inside the transaction of its upload and writes some at a time, so memory
does not hold the file.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from django.db import connection
from django.utils.translation import gettext as _

from annotation.accounts.models import User
from annotation.core import sql
from annotation.histories.models import Mark, Message, Passage, Session, Tombstone, Upload
from annotation.histories.records import Conversation, Refused, Search, Skipped, Visit

# So many characters of conversations wait for being written.
BATCH = 1_000_000
# So many searches and visits are added to their days at once, and a file may hold.
EVENTS_AT_ONCE, EVENTS_LIMIT = 20_000, 2_000_000
# What changes of a day that has grown.
GROWS = (
    *("upload", "length", "characters", "started_at", "ended_at", "updated_at"),
    *("time_zone_assumed", "marked_at", "state"),
)
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

    Call it inside ``changing``: whatever ``records`` or ``alive`` raise leaves nothing.
    """
    _limit_statements()
    counts = Counts()
    erased = set() if upload.again else _erased(upload.owner)
    chats, events = _Conversations(upload, counts, erased), _Events(upload, counts, erased)
    for record in records:
        if isinstance(record, Conversation):
            chats.add(record)
        elif isinstance(record, Search | Visit):
            events.add(record)
        elif isinstance(record, Skipped):
            counts.skip(record.where, record.reason)
        alive()
    chats.flush()
    events.finish()
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

    def __init__(self, upload: Upload, counts: Counts, erased: set[str]) -> None:
        self.upload, self.owner, self.counts = upload, upload.owner, counts
        self.waiting: dict[tuple, Conversation] = {}
        self.size, self.erased = 0, erased

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
            if session and _age(chat) <= (session.updated_at or EARLIEST, session.length):
                self._stays(session, key, chat)
                continue
            if session:
                replaced.append((session, chat))
            else:
                names = {"provider": chat.provider, "external_id": chat.id}
                fresh.append((Session(owner=self.owner, kind="chat", **names), chat))
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
    _reopen(session)


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


class _Events:
    """Searches and visits on their way into the sessions of their days."""

    def __init__(self, upload: Upload, counts: Counts, erased: set[str]) -> None:
        self.upload, self.owner, self.counts = upload, upload.owner, counts
        self.erased = erased
        self.waiting: dict[tuple, list[tuple]] = defaultdict(list)
        # The same time and text is one search.
        self.seen: set[int] = set()
        self.times: dict[str, list[datetime]] = {"search": [], "visit": []}
        self.in_erased_days = 0

    def add(self, event: Search | Visit) -> None:
        """Count a search or visit, and write those that wait where they are many."""
        kind = "search" if isinstance(event, Search) else "visit"
        day = event.at.astimezone(UTC).date().isoformat() if event.at else "undated"
        key = (kind, event.provider, day)
        if digest_of(*key) in self.erased:
            self.in_erased_days += 1
            return
        same = hash((*key, event.at, event.text))
        if same in self.seen:
            self.counts.duplicates += 1
            return
        self.seen.add(same)
        if len(self.seen) > EVENTS_LIMIT:
            raise Refused("too_large")
        self.counts.searches += kind == "search"
        self.counts.visits += kind == "visit"
        if event.at:
            known = [event.at, *self.times[kind]]
            self.times[kind] = [min(known), max(known)]
        self.waiting[key].append((event.at, event.text, event.time_zone_assumed))
        if len(self.seen) % EVENTS_AT_ONCE == 0:
            self.flush()

    def finish(self) -> None:
        """Write the rest, and count the time that the file covers."""
        self.flush()
        self.counts.at(*(self.times["search"] or self.times["visit"]))
        if self.in_erased_days:
            words = _("erased again, for you erased their days before: searches: %(n)d")
            self.counts.skip("…", words % {"n": self.in_erased_days})

    def flush(self) -> None:
        """Add what waits to its days, each search once beside those that are here."""
        new = [Session(owner=self.owner, upload=self.upload, kind=kind, provider=provider,
                       external_id=day) for kind, provider, day in self.waiting]  # fmt: skip
        Session.objects.bulk_create(new, ignore_conflicts=True)
        days = {key[2] for key in self.waiting}
        here = Session.objects.filter(owner=self.owner, external_id__in=days).exclude(kind="chat")
        sessions = {(row.kind, row.provider, row.external_id): row for row in here}
        touched = [sessions[key] for key in self.waiting]
        stored = set(
            Message.objects.filter(session__in=touched).values_list("session_id", "at", "text")
        )
        rows: list[dict[str, Any]] = []
        grown = []
        for key, events in self.waiting.items():
            session = sessions[key]
            fresh = [event for event in events if (session.pk, *event[:2]) not in stored]
            self.counts.duplicates += len(events) - len(fresh)
            if fresh:
                fresh.sort(key=lambda event: event[0] or EARLIEST)
                rows += _grow(session, self.upload, fresh)
                grown.append(session)
        sql.copy(Message, rows)
        Session.objects.bulk_update(grown, GROWS, batch_size=500)
        self.waiting.clear()


def _grow(session: Session, upload: Upload, events: list[tuple]) -> list[dict[str, Any]]:
    """Messages of ``events`` (time, text, whether its zone is assumed) at the end of a day."""
    rows = [
        {"session_id": session.pk, "position": position, "role": "user", "text": text, "at": at}
        | {"external_id": "", "attachments": [], "model": ""}
        for position, (at, text, _assumed) in enumerate(events, session.length)
    ]
    times = [at for at, _text, _assumed in events if at]
    session.upload = upload
    session.length += len(events)
    session.characters += sum(len(text) for _at, text, _assumed in events)
    session.started_at = min([*times, *filter(None, [session.started_at])], default=None)
    session.ended_at = max([*times, *filter(None, [session.ended_at])], default=None)
    session.updated_at = session.ended_at
    session.time_zone_assumed |= any(assumed for _at, _text, assumed in events)
    _reopen(session)
    return rows


def _reopen(session: Session) -> None:
    """What has new words is looked through and decided on again."""
    session.marked_at = None
    if session.state == Session.State.RETAINED:
        session.state = Session.State.PENDING
