"""Reading a history: everything for its owner; for anybody else kept sessions, redacted, allowed.

The other apps come in through ``sessions``, ``transcript`` and ``context``, and through nothing
else.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, cast
from uuid import UUID

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left, TruncMonth
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.accounts.models import User
from annotation.core.errors import DomainError
from annotation.histories import consent, redact
from annotation.histories.marks import late, passages, shown_text
from annotation.histories.models import Mark, Message, Session, Upload
from annotation.studies.models import Study

Kind, State = Session.Kind, Session.State
SPEAKERS = {"user": "User", "assistant": "Assistant"}
# Texts and marks of so many messages are in memory at once.
MESSAGES = 2_000
BEGINNING = 160
# The filter for sessions in which later rules found something.
LATE = "late"
# Characters of a title that is made of what a session begins with.
HEADING = 70


@dataclass(frozen=True)
class Transcript:
    """One kept session as others may see it: ``title`` and ``text`` are redacted."""

    session: object
    kind: str
    provider: str
    started_at: datetime | None
    title: str
    text: str
    # Of a chat: (role, text) of each message.
    turns: tuple[tuple[str, str], ...] = ()


def sessions(owner: User, study: Study | None = None) -> QuerySet[Session]:
    """The sessions that ``owner`` keeps, newest first; none for who is no member of ``study``."""
    rows = Session.objects.filter(owner=owner, state=State.RETAINED)
    if study is not None and not study.memberships.filter(user=owner, left_at=None).exists():
        return rows.none()
    return _newest_first(rows)


def context(
    owner: User,
    study: Study,
    purpose: str,
    endpoint: str = "",
    only: Collection[UUID] | None = None,
) -> list[Transcript]:
    """``owner``'s kept sessions for ``purpose`` in ``study``, redacted, newest first.

    ``only`` limits them to these session ids; one that is not kept is left out. Raises DomainError
    where the owner does not allow the purpose.
    """
    if not consent.allows(owner, study, purpose, endpoint):
        sentence = _("The owner of this history does not allow this use of it.")
        raise DomainError(sentence, code="no_consent", status=403)
    rows = sessions(owner, study)
    return list(transcripts(rows if only is None else rows.filter(pk__in=list(only))))


def transcripts(rows: QuerySet[Session]) -> Iterator[Transcript]:
    """The redacted texts of sessions; its callers ask for consent, or are their owner."""
    waiting, size = [], 0
    for session in rows:
        waiting.append(session)
        size += session.length
        if size >= MESSAGES:
            yield from _transcripts(waiting)
            waiting, size = [], 0
    yield from _transcripts(waiting)


def _transcripts(some: list[Session]) -> Iterator[Transcript]:
    titles: dict[UUID, list[Mark]] = defaultdict(list)
    texts: dict[int | None, list[Mark]] = defaultdict(list)
    for mark in Mark.objects.filter(session__in=some).select_related("alias"):
        of_title = mark.message_id is None
        (titles[mark.session_id] if of_title else texts[mark.message_id]).append(mark)
    messages = defaultdict(list)
    for message in Message.objects.filter(session__in=some).order_by("position"):
        messages[message.session_id].append(message)
    for session in some:
        shown = [(m, shown_text(m, texts[m.pk])) for m in messages[session.pk]]
        is_chat = session.kind == Kind.CHAT
        turns = tuple((m.role, text) for m, text in shown if text and is_chat)
        yield Transcript(
            session=session.pk,
            kind=session.kind,
            provider=session.provider,
            started_at=session.started_at,
            title=redact.apply(session.title, passages(titles[session.pk])),
            text=_text_of_chat(turns) if is_chat else _text_of_day(session, shown),
            turns=turns,
        )


def _text_of_chat(turns: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"{SPEAKERS.get(role, role)}: {text}" for role, text in turns)


def _text_of_day(session: Session, shown: list[tuple[Message, str]]) -> str:
    """Searches or visits as lines with their time."""
    in_order = sorted(shown, key=lambda pair: (pair[0].at is None, pair[0].at, pair[0].position))
    # A page that was opened is not to be taken for a search that was typed.
    did = "Visited: " if session.kind == Kind.VISIT else ""
    return "\n".join(
        f"{f'{message.at:%Y-%m-%d %H:%M} ' if message.at else ''}{did}{text}"
        for message, text in in_order
    )


# --- For the owner alone ----------------------------------------------------------------------


def which(
    owner: User, *, state: str = "", kind: str = "", provider: str = "", month: date | None = None
) -> QuerySet:
    """Those of ``owner``'s sessions that fit; what is empty does not narrow them."""
    rows = Session.objects.filter(owner=owner)
    if state == LATE:
        rows, state = rows.filter(pk__in=late(owner).values("session")), ""
    for name, value in (("state", state), ("kind", kind), ("provider", provider)):
        if value:
            rows = rows.filter(**{name: value})
    if month:
        rows = rows.filter(started_at__year=month.year, started_at__month=month.month)
    return rows


def listed(sessions: QuerySet) -> QuerySet:
    """Sessions newest first: how each ``begins``, and how much is ``hidden`` in it."""
    hidden = Count("marks", filter=~Q(marks__state=Mark.State.REJECTED))
    first = Message.objects.filter(session=OuterRef("pk")).order_by("position")
    begins = Subquery(first.values(start=Left("text", BEGINNING))[:1])
    return _newest_first(sessions.annotate(hidden=hidden, begins=begins))


def heading(session: Session, begins: str) -> str:
    """What an owner reads as the title of a session that has none: how it ``begins``, on a line."""
    words = " ".join(begins.split())
    if len(words) > HEADING:
        words = f"{words[: HEADING - 1].rstrip()}…"
    # A hit of a search has neither its beginning nor its length.
    more = session.length - 1 if words else 0
    if session.kind == Kind.CHAT or more < 1:
        return words
    both = ngettext("%(words)s and %(n)d more", "%(words)s and %(n)d more", more)
    return both % {"words": words, "n": more}


def timeline(owner: User) -> list[tuple[date | None, int]]:
    """How many sessions began in each month, newest first; those without a time last."""
    sessions = Session.objects.filter(owner=owner).annotate(month=TruncMonth("started_at"))
    counts = sessions.values_list("month").annotate(Count("pk"))
    counts = counts.order_by(F("month").desc(nulls_last=True))
    return [(month and month.date(), count) for month, count in counts]


def providers(owner: User) -> list[str]:
    """Where ``owner``'s sessions come from."""
    sessions = Session.objects.filter(owner=owner)
    return sorted(sessions.values_list("provider", flat=True).distinct())


def tally(owner: User) -> dict[str, int]:
    """How many sessions are kept, dropped, not decided, and not yet looked through."""
    return Session.objects.filter(owner=owner).aggregate(
        total=Count("pk"),
        retained=Count("pk", Q(state=State.RETAINED)),
        dropped=Count("pk", Q(state=State.DROPPED)),
        pending=Count("pk", Q(state=State.PENDING)),
        unmarked=Count("pk", Q(marked_at=None)),
    )


def is_being_read(owner: User) -> bool:
    """Whether a file of ``owner`` has arrived and is not read to its end."""
    waiting = (Upload.Status.REQUESTED, Upload.Status.RUNNING)
    return Upload.objects.filter(owner=owner, status__in=waiting).exists()


def choose(owner: User, which: QuerySet[Session] | Iterable[UUID], state: str) -> int:
    """Keep or drop sessions (a queryset, or their ids), or leave them undecided; how many changed.

    What is not yet looked through for personal data cannot be kept.
    """
    if state not in State.values:
        raise DomainError(_("Say whether to keep or to drop them."))
    rows = Session.objects.filter(owner=owner, pk__in=cast(Any, which))
    if state == State.RETAINED:
        rows = rows.filter(marked_at__isnull=False)
    return rows.exclude(state=state).update(state=state)


def note_opened(session: Session) -> None:
    """Note that the owner opened the session for the first time."""
    if session.opened_at is None:
        Session.objects.filter(pk=session.pk, opened_at=None).update(opened_at=timezone.now())


def next_pending(which: QuerySet[Session], after: Session | None = None) -> Session | None:
    """The undecided session of ``which`` that follows ``after`` in the list; else the first one."""
    pending = which.filter(state=Session.State.PENDING)
    if after is None:
        return _newest_first(pending).first()
    pending = pending.exclude(pk=after.pk)
    if after.started_at is None:
        later = Q(started_at=None, pk__gt=after.pk)
    else:
        same = Q(started_at=after.started_at, pk__gt=after.pk)
        later = Q(started_at__lt=after.started_at) | same | Q(started_at=None)
    return _newest_first(pending.filter(later)).first() or _newest_first(pending).first()


def bulk(which: QuerySet[Session]) -> dict[str, Any]:
    """What keeping all of ``which`` would mean; those still searched for data are left out.

    Of ``sessions`` some are ``unread``, never opened; ``hidden`` is [(kind, passages)] of what
    others will not see, the most frequent first; ``shown`` passages were looked at and are shown.
    """
    ready = which.filter(marked_at__isnull=False).order_by()
    counts = ready.aggregate(sessions=Count("pk"), unread=Count("pk", Q(opened_at=None)))
    marks = Mark.objects.filter(session__in=ready.values("pk")).order_by()
    hidden = marks.exclude(state=Mark.State.REJECTED).values_list("alias__kind")
    by_kind = sorted(hidden.annotate(n=Count("pk")), key=lambda row: -row[1])
    shown = marks.filter(state=Mark.State.REJECTED).count()
    finds = sum(count for _kind, count in by_kind)
    return {**counts, "hidden": by_kind, "finds": finds, "shown": shown}


def _newest_first(sessions: QuerySet[Session]) -> QuerySet[Session]:
    return sessions.order_by(F("started_at").desc(nulls_last=True), "pk")
