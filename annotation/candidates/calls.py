"""Calls of models as jobs (core.jobs): how many at once an endpoint takes, and who tries again."""

import logging
import math
import random
from collections import deque
from contextlib import AbstractContextManager
from datetime import timedelta
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from annotation.candidates import endpoints
from annotation.candidates.endpoints import CallFailed
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
CANCELLED = jobs.Job.Status.CANCELLED
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
    ), rows AS (
        SELECT *, status = 'requested' AND next_try_at > statement_timestamp() AS waits FROM busy
    )
    SELECT count(*) FILTER (WHERE status = 'running' AND lease_expires_at > statement_timestamp()),
           count(*) FILTER (WHERE waits AND error_code = 'rate_limit'),
           count(*) FILTER (WHERE waits AND error_code = ANY(%(troubles)s))
    FROM rows"""


def notify_due() -> int:
    """Notify workers of as many due rows as each endpoint has free places; of how many.

    Rows whose lease has run out come back first, or are parked after TRIES attempts. A row may be
    notified of twice: the second worker finds it taken. A broker that is away loses nothing: the
    periodic task notifies again.
    """
    reap()
    count = 0
    for candidate_id in calls_due():
        if not jobs.notify(app.signature("annotation.candidates.tasks.write"), candidate_id):
            break
        count += 1
    return count


def reap() -> None:
    """Mark as failed the rows whose workers ended without a result at each of their tries."""
    for table in TABLES:
        lost = jobs.exhausted(table.all())
        for name in _endpoints_of(lost):
            lost.filter(endpoint=name).update(
                status=FAILED,
                error_code="worker_lost",
                error=endpoints.sentence("worker_lost", name),
                lease_expires_at=None,
            )


def calls_due(study: Study | None = None) -> list[UUID]:
    """Ids of rows that may start now, oldest first, at most the free places of each endpoint."""
    places, ids = {}, []
    for rows in _startable(study):
        for name in _endpoints_of(rows):
            free = places.setdefault(name, _places(name))
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


def claim(pk: UUID | str) -> Generated | None:
    """Take the row ``pk`` for one attempt, where it may start and its endpoint has a place."""
    for table in TABLES:
        row = _with_related(table).filter(pk=pk).exclude(endpoint="").first()
        if row:
            return next(iter(claim_some(row.endpoint, deque([row]), 1)), None)
    return None


def claim_some(name: str, rows: deque[Generated], most: int) -> list[Generated]:
    """Take rows from the front of ``rows``, of one table, while the endpoint ``name`` has places.

    At most ``most``. Status, lease and attempt number of all are changed by one statement; those
    that others took meanwhile are left out of the result.
    """
    with transaction.atomic():
        jobs.lock(f"call {name}")  # the places of one endpoint are counted in turn
        tried = [rows.popleft() for _row in range(min(most, _places(name), len(rows)))]
        taken = jobs.take_some(type(tried[0]), [row.pk for row in tried]) if tried else {}
    return [_as_taken(row, taken[row.pk]) for row in tried if row.pk in taken]


def _as_taken(row: Generated, attempts: int) -> Generated:
    if attempts > 1:  # an earlier attempt may have stored something since the row was read
        return _with_related(type(row)._base_manager).get(pk=row.pk)
    row.status, row.attempts = RUNNING, attempts
    return row


def _with_related(rows: models.Manager | QuerySet) -> QuerySet:
    return rows.select_related(*RELATED[rows.model])


def upcoming(name: str, most: int, study: Study | None = None) -> list[Generated]:
    """Some ``most`` rows of the endpoint ``name`` that may start, of one table.

    The oldest of each study, in turn: one that asks for thousands keeps no other waiting.
    """
    for rows in _startable(study):
        oldest = _with_related(rows).filter(endpoint=name).order_by("created_at", "pk")
        studies = oldest.order_by().values_list("study", flat=True).distinct()
        share = math.ceil(most / max(1, len(studies)))
        shares = [oldest.filter(study=pk)[:share] for pk in studies]
        if some := [row for turn in zip_longest(*shares) for row in turn if row]:
            return some
    return []


def names_due(study: Study | None = None) -> list[str]:
    """The endpoints that rows wait for."""
    return list(dict.fromkeys(name for rows in _startable(study) for name in _endpoints_of(rows)))


def _startable(study: Study | None) -> list[QuerySet]:
    """The rows that may start, a query set a table."""
    rows = [jobs.startable(table.all()) for table in TABLES]
    return [some.filter(study=study) for some in rows] if study else rows


def _endpoints_of(rows: QuerySet) -> list[str]:
    return list(rows.order_by().values_list("endpoint", flat=True).distinct())


def stopped(rows: QuerySet) -> QuerySet:
    """Those of ``rows`` that failed or were cancelled; no answers to questions that were replaced.

    The words of such a question may be erased.
    """
    rows = rows.filter(status__in=(FAILED, CANCELLED))
    return rows.filter(query__replaced_at=None) if rows.model is Candidate else rows


def again(rows: QuerySet) -> int:
    """Ask once more for ``rows``; the patience for their endpoint begins anew. How many."""
    transaction.on_commit(notify_due)
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


def renewed(row: Generated) -> AbstractContextManager:
    """Renew the lease while the block runs, no longer than two calls can take."""
    return jobs.renewed(row, longest=LONGEST_LEASE)


def store_parameter(row: Generated, name: str, value: Any) -> None:
    """Store what an attempt drew or was answered, for its later attempts too."""
    row.parameters[name] = value
    jobs.held(row).update(parameters=row.parameters)
