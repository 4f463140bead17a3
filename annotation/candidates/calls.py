"""Calls of models as jobs (core.jobs): how many at once an endpoint takes, and who tries again."""

import logging
import random
from collections import Counter
from datetime import timedelta
from itertools import zip_longest
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models, transaction
from django.db.models import Count, F, Q, QuerySet
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
    """Ids of rows that may start now, at most the free places of each endpoint.

    The oldest of each study, in turn: one that asks for thousands keeps no other waiting.
    """
    places, ids = {}, []
    for rows in _startable(study):
        for name in _endpoints_of(rows):
            free = places.setdefault(name, _places(name))
            some = _in_turn(rows.filter(endpoint=name), free) if free else []
            places[name] -= len(some)
            ids += some
    return ids


def _in_turn(rows: QuerySet, most: int) -> list[UUID]:
    studies = rows.order_by().values_list("study", flat=True).distinct()
    oldest = rows.order_by("created_at", "pk").values_list("pk", flat=True)
    shares = [oldest.filter(study=pk)[:most] for pk in studies]
    return [pk for turn in zip_longest(*shares) for pk in turn if pk][:most]


def _places(name: str) -> int:
    """How many calls to the endpoint may start now; none while it is to be left in peace.

    That is when it asked for patience, or when TROUBLE rows wait for another try after it failed.
    A row of an endpoint that is no longer configured needs no place: its failure is only written
    down.
    """
    server = endpoints.configured(name)
    if server is None:
        return 1
    waits = Q(status=REQUESTED, next_try_at__gt=Now())
    counted = {
        "running": Count("pk", Q(status=RUNNING, lease_expires_at__gt=Now())),
        "limited": Count("pk", waits & Q(error_code="rate_limit")),
        "troubled": Count("pk", waits & Q(error_code__in=endpoints.TROUBLES)),
    }
    counts: Counter[str] = Counter()
    for table in TABLES:
        # As the indexes candidate_busy and proposal_busy: few, though many wait.
        busy = Q(status=RUNNING) | Q(status=REQUESTED, next_try_at__isnull=False)
        counts.update(table.filter(busy, endpoint=name).aggregate(**counted))
    if counts["limited"] or counts["troubled"] >= TROUBLE:
        return 0
    return max(0, server.concurrency - counts["running"])


def claim(pk: UUID | str) -> Generated | None:
    """Take the row ``pk`` for one attempt, where it may start and its endpoint has a place."""
    for table in TABLES:
        name = table.filter(pk=pk).exclude(endpoint="").values_list("endpoint", flat=True).first()
        if name and _taken(table, pk, name):
            return table.select_related(*RELATED[table.model]).get(pk=pk)
    return None


@transaction.atomic
def _taken(table: models.Manager, pk: UUID | str, name: str) -> bool:
    jobs.lock(f"call {name}")  # the places of one endpoint are counted in turn
    return _places(name) > 0 and jobs.take(table.all(), pk)


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


def retry_calls(rows: QuerySet) -> int:
    """Ask once more for ``rows``; the patience for their endpoint begins anew. How many."""
    transaction.on_commit(notify_due)
    rows.update(asked_at=Now())
    return jobs.retry_jobs(rows)


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


def store_parameter(row: Generated, name: str, value: Any) -> None:
    """Store what an attempt drew or was answered, for its later attempts too."""
    row.parameters[name] = value
    jobs.held(row).update(parameters=row.parameters)
