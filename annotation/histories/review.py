"""Helps an owner decide on sessions quickly: what comes next, and what keeping many would mean."""

from dataclasses import dataclass

from django.db.models import Count, F, Q, QuerySet
from django.utils import timezone

from annotation.histories.models import Mark, Session


@dataclass(frozen=True)
class Bulk:
    """What is in the sessions that are to be kept together.

    ``unread`` were never opened; ``hidden`` is [(kind, passages)] of what others will not see, the
    most frequent first; ``shown`` passages were looked at and are shown.
    """

    sessions: int
    unread: int
    hidden: list[tuple[str, int]]
    shown: int

    @property
    def finds(self) -> int:
        """Passages that stay hidden."""
        return sum(count for _kind, count in self.hidden)


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


def bulk(which: QuerySet[Session]) -> Bulk:
    """What keeping all of ``which`` would mean; those still searched for data are left out."""
    ready = which.filter(marked_at__isnull=False).order_by()
    counts = ready.aggregate(sessions=Count("pk"), unread=Count("pk", Q(opened_at=None)))
    marks = Mark.objects.filter(session__in=ready.values("pk")).order_by()
    hidden = marks.exclude(state=Mark.State.REJECTED).values_list("alias__kind")
    return Bulk(
        **counts,
        hidden=sorted(hidden.annotate(n=Count("pk")), key=lambda row: -row[1]),
        shown=marks.filter(state=Mark.State.REJECTED).count(),
    )


def _newest_first(sessions: QuerySet[Session]) -> QuerySet[Session]:
    return sessions.order_by(F("started_at").desc(nulls_last=True), "pk")
