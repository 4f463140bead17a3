"""Calls of models as jobs (core.jobs): how many at once an endpoint takes, and who tries again."""

import logging
import random
from contextlib import AbstractContextManager
from datetime import timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Count, Q
from django.db.models.functions import Now

from annotation.candidates import endpoints
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Candidate
from annotation.celery import app
from annotation.core import jobs
from annotation.studies.models import Study

log = logging.getLogger(__name__)

BACKOFF_SECONDS, LONGEST_BACKOFF = 4, 120
# An endpoint that asks for more patience than this has to be asked again by a person.
LONGEST_WAIT = 3600
# So many answers waiting for another try mean that the endpoint itself is in trouble.
TROUBLE = 3
RUNNING, REQUESTED, FAILED = jobs.RUNNING, jobs.REQUESTED, jobs.FAILED


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
    """Park the rows whose workers stopped without a word TRIES times."""
    worn_out = jobs.exhausted(Candidate.every.all())
    for name in list(worn_out.order_by().values_list("endpoint", flat=True).distinct()):
        worn_out.filter(endpoint=name).update(
            status=FAILED,
            error_code="worker_lost",
            error=endpoints.sentence("worker_lost", name),
            lease_expires_at=None,
        )


def due(study: Study | None = None) -> list[UUID]:
    """Ids of rows that may start now, oldest first, at most the free places of each endpoint."""
    rows = jobs.startable(Candidate.every.all())
    if study:
        rows = rows.filter(study=study)
    found = []
    for name in list(rows.order_by().values_list("endpoint", flat=True).distinct()):
        free = _places(name)
        found += (
            rows.filter(endpoint=name)
            .order_by("created_at", "pk")
            .values_list("pk", flat=True)[:free]
        )
    return found


def _places(name: str) -> int:
    """How many calls to the endpoint may start now; none while it is to be left in peace.

    That is when it asked for patience, or when TROUBLE rows wait for another try after it failed.
    A row of an endpoint that is no longer configured needs no place: its failure is only written
    down.
    """
    server = endpoints.configured(name)
    if server is None:
        return 1
    rows = Candidate.every.filter(endpoint=name)
    waiting = Q(status=REQUESTED, next_try_at__gt=Now())
    count = rows.aggregate(
        running=Count("pk", Q(status=RUNNING, lease_expires_at__gt=Now())),
        limited=Count("pk", waiting & Q(error_code="rate_limit")),
        troubled=Count("pk", waiting & Q(error_code__in=endpoints.TROUBLES)),
    )
    if count["limited"] or count["troubled"] >= TROUBLE:
        return 0
    return max(0, server.concurrency - count["running"])


def claim(candidate_id) -> Candidate | None:
    """Take the row for one attempt: status, lease and attempt number in one conditional update."""
    with transaction.atomic():
        name = Candidate.every.filter(pk=candidate_id).values_list("endpoint", flat=True).first()
        if not name:
            return None
        with connection.cursor() as cursor:  # the places of one endpoint are counted in turn
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"call {name}"]
            )
        if not _places(name):
            return None
        if not jobs.take(Candidate.every.all(), candidate_id):
            return None
        return Candidate.every.select_related("query", "persona_version").get(pk=candidate_id)


def put_off(candidate: Candidate, failure: CallFailed) -> None:
    """Store the class of the failure; another try later, or parked for good."""
    tries = candidate.tries
    again = failure.retry and tries < jobs.TRIES and failure.wait <= LONGEST_WAIT
    pause = min(LONGEST_BACKOFF, BACKOFF_SECONDS * 2**tries)
    wait = failure.wait + random.uniform(0, pause)  # noqa: S311 - full jitter
    jobs.end(
        candidate,
        REQUESTED if again else FAILED,
        next_try_at=Now() + timedelta(seconds=wait) if again else None,
        error_code=failure.code,
        error=endpoints.sentence(failure.code, candidate.endpoint),
    )
    log.info("candidate %s: attempt %s: %s", candidate.pk, candidate.attempts, failure.code)


def lease_kept(candidate: Candidate) -> AbstractContextManager:
    """Renew the lease while the block runs, no longer than two calls can take."""
    return jobs.renewed(candidate, longest=2 * endpoints.LONGEST_TIMEOUT)
