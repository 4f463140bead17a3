"""Calls of models as jobs (core.jobs): how many at once an endpoint takes, and who tries again."""

import logging
import random
from contextlib import AbstractContextManager
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from annotation.candidates import endpoints
from annotation.candidates.endpoints import Answer, CallFailed, Endpoint
from annotation.candidates.models import Candidate, Generated, Proposal
from annotation.celery import app
from annotation.core import jobs
from annotation.studies.models import Study

log = logging.getLogger(__name__)

BACKOFF_SECONDS, LONGEST_BACKOFF = 4, 120
# So many answers waiting for another try mean that the endpoint itself is in trouble.
TROUBLE = 3
# What models fill; an id is of one of these tables, and all share the places of an endpoint.
TABLES = (Candidate.every, Proposal.objects)
RELATED = {
    Candidate: ("query__persona", "persona_version", "study"),
    Proposal: ("persona", "study"),
}
# No row takes longer than two calls can take.
LONGEST_LEASE = 2 * endpoints.LONGEST_TIMEOUT
RUNNING, REQUESTED, FAILED = jobs.RUNNING, jobs.REQUESTED, jobs.FAILED
# The rows of TABLES that the indexes candidate_busy and proposal_busy hold: few, though many wait.
COUNT = """
    WITH busy AS (
        SELECT status, lease_expires_at, next_try_at, error_code FROM candidates_candidate
        WHERE endpoint = %(name)s
        AND (status = 'running' OR status = 'requested' AND next_try_at IS NOT NULL)
        UNION ALL
        SELECT status, lease_expires_at, next_try_at, error_code FROM candidates_proposal
        WHERE endpoint = %(name)s
        AND (status = 'running' OR status = 'requested' AND next_try_at IS NOT NULL)
    ), rows AS (SELECT *, status = 'requested' AND next_try_at > now() AS waits FROM busy)
    SELECT count(*) FILTER (WHERE status = 'running' AND lease_expires_at > now()),
           count(*) FILTER (WHERE waits AND error_code = 'rate_limit'),
           count(*) FILTER (WHERE waits AND error_code = ANY(%(troubles)s))
    FROM rows"""


def ring() -> int:
    """Call workers to as many due rows as each endpoint has free places; how many were called.

    Rows whose lease has run out come back first, or are parked after TRIES attempts. A row may be
    called twice: the second worker finds it taken. A broker that is away loses nothing, because the
    beat rings again.
    """
    reap()
    calls = 0
    for candidate_id in due():
        if not jobs.notify(app.signature("annotation.candidates.tasks.write"), candidate_id):
            break
        calls += 1
    return calls


def reap() -> None:
    """Park the rows whose workers stopped without a word as often as a row is tried."""
    for table in TABLES:
        lost = jobs.exhausted(table.all())
        for name in list(lost.order_by().values_list("endpoint", flat=True).distinct()):
            lost.filter(endpoint=name).update(
                status=FAILED,
                error_code="worker_lost",
                error=endpoints.sentence("worker_lost", name),
                lease_expires_at=None,
            )


def due(study: Study | None = None, *, ahead: int = 0) -> list[UUID]:
    """Ids of rows that may start now, oldest first, at most the free places of each endpoint.

    Where an endpoint has free places, up to ``ahead`` more: for who takes one after the other.
    """
    places, ids = {}, []
    for table in TABLES:
        rows = jobs.startable(table.all())
        rows = rows.filter(study=study) if study else rows
        for name in list(rows.order_by().values_list("endpoint", flat=True).distinct()):
            free = places.setdefault(name, _places(name))
            free += ahead if free > 0 else 0
            some = rows.filter(endpoint=name).order_by("created_at", "pk")
            some = some.values_list("pk", flat=True)[:free]
            places[name] = max(0, places[name] - len(some))
            ids += some
    return ids


def _places(name: str) -> int:
    """How many calls to the endpoint may start now; none while it is to be left in peace.

    That is when it asked for patience, or when TROUBLE rows wait for another try after it failed.
    A row of an endpoint that is no longer configured needs no place: its failure is only written
    down.
    """
    server = endpoints.configured(name)
    if server is None:
        return 1
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"name": name, "troubles": sorted(endpoints.TROUBLES)})
        running, limited, troubled = cursor.fetchone()
    if limited or troubled >= TROUBLE:
        return 0
    return max(0, server.concurrency - running)


def claim(pk, table=Candidate.every) -> Generated | None:
    """Take the row for one attempt: status, lease and attempt number in one conditional update."""
    row = table.select_related(*RELATED[table.model]).filter(pk=pk).first()
    if row is None or not row.endpoint:
        return None
    name, seen = row.endpoint, row.attempts
    with transaction.atomic():
        with connection.cursor() as cursor:  # the places of one endpoint are counted in turn
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"call {name}"]
            )
        if not _places(name) or not jobs.take(table.filter(attempts=seen), pk):
            return None
    if seen:  # an earlier attempt may have stored something since the row was read
        return table.select_related(*RELATED[table.model]).get(pk=pk)
    row.status, row.attempts = RUNNING, 1
    return row


def again(rows: QuerySet) -> int:
    """Ask once more for ``rows``; the patience for their endpoint begins anew. How many."""
    transaction.on_commit(ring)
    rows.update(asked_at=Now())
    return jobs.again(rows)


def put_off(row: Generated, failure: CallFailed) -> None:
    """Store the class of the failure; another try later, or parked for good.

    A server that asks for patience is obeyed without counting a try, as long as its row was asked
    for less than GENERATION_HOURS ago; the budget of the next day is waited for in any case.
    """
    patience = failure.code == "budget_day" or (failure.code == "rate_limit" and failure.wait > 0)
    pause = min(LONGEST_BACKOFF, BACKOFF_SECONDS * 2**row.tries)
    wait = failure.wait + random.uniform(0, pause)  # noqa: S311 - full jitter
    end = row.asked_at + timedelta(hours=settings.GENERATION_HOURS)
    in_time = timezone.now() + timedelta(seconds=wait) < end or failure.code == "budget_day"
    again = failure.retry and in_time and (patience or row.tries < jobs.TRIES)
    jobs.end(
        row,
        REQUESTED if again else FAILED,
        next_try_at=Now() + timedelta(seconds=wait) if again else None,
        tries_from=F("tries_from") + (1 if patience and again else 0),
        error_code=failure.code,
        error=endpoints.sentence(failure.code, row.endpoint),
    )
    log.info("%s %s: attempt %s: %s", type(row).__name__, row.pk, row.attempts, failure.code)


def paid(row: Generated, server: Endpoint, answer: Answer, seconds: float) -> None:
    """Add what a call cost, whatever becomes of its answer and of this attempt."""
    type(row)._base_manager.filter(pk=row.pk).update(
        tokens_in=F("tokens_in") + answer.tokens_in,
        tokens_out=F("tokens_out") + answer.tokens_out,
        cost=F("cost") + server.cost(answer.tokens_in, answer.tokens_out),
        seconds=F("seconds") + seconds,
    )


def lease_kept(row: Generated) -> AbstractContextManager:
    """Renew the lease while the block runs, no longer than two calls can take."""
    return jobs.renewed(row, longest=LONGEST_LEASE)
