"""The row as a job: who has it, since when, and when somebody tries again.

``claim`` takes a row by one conditional update, a thread keeps its lease alive while the model
writes, and only the attempt that holds the lease may store anything. The broker only rings the
bell: where it loses one, or a worker dies, ``ring`` finds the row again.
"""

import logging
import random
import threading
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import redis
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Count, F, Q
from django.db.models.functions import Now
from kombu.exceptions import OperationalError as BrokerError

from annotation.candidates import endpoints
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Candidate
from annotation.celery import app
from annotation.core import heartbeat
from annotation.studies.models import Study

log = logging.getLogger(__name__)

TRIES = 3
# A killed worker's row is back in work within a lease and a round of `ring` (20 s).
LEASE = timedelta(seconds=30)
RENEW_SECONDS = 10
BACKOFF_SECONDS, LONGEST_BACKOFF = 4, 120
# An endpoint that asks for more patience than this has to be asked again by a person.
LONGEST_WAIT = 3600
# So many answers waiting for another try mean that the endpoint itself is in trouble.
TROUBLE = 3
RUNNING, REQUESTED = Candidate.Status.RUNNING, Candidate.Status.REQUESTED
FAILED = Candidate.Status.FAILED


def ring() -> int:
    """Call workers to as many due rows as each endpoint has free places; how many were called.

    Rows whose lease has run out come back first, or are parked after TRIES attempts. A row may be
    called twice: the second worker finds it taken. A broker that is away loses nothing, because the
    beat rings again.
    """
    reap()
    calls = 0
    for candidate_id in due():
        try:
            app.signature("annotation.candidates.tasks.write").delay(str(candidate_id))
        except (BrokerError, redis.RedisError) as error:
            log.warning(
                "the broker is away (%s): rows wait for the next round", type(error).__name__
            )
            break
        calls += 1
    return calls


def reap() -> None:
    """Give back the rows whose worker stopped without a word; park those that stopped too many."""
    lost = Candidate.every.filter(status=RUNNING, lease_expires_at__lt=Now())
    worn_out = lost.filter(attempts__gte=F("tries_from") + TRIES)
    for name in list(worn_out.order_by().values_list("endpoint", flat=True).distinct()):
        worn_out.filter(endpoint=name).update(
            status=FAILED,
            error_code="worker_lost",
            error=endpoints.sentence("worker_lost", name),
            lease_expires_at=None,
        )
    lost.filter(attempts__lt=F("tries_from") + TRIES).update(
        status=REQUESTED, lease_expires_at=None
    )


def due(study: Study | None = None) -> list[UUID]:
    """Ids of rows that may start now, oldest first, at most the free places of each endpoint."""
    rows = _is_due(Candidate.every.filter(status=REQUESTED))
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


def _is_due(rows):
    return rows.filter(Q(next_try_at=None) | Q(next_try_at__lte=Now()))


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
        mine = _is_due(Candidate.every.filter(pk=candidate_id, status=REQUESTED)).update(
            status=RUNNING, attempts=F("attempts") + 1, lease_expires_at=Now() + LEASE
        )
        if not mine:
            return None
        return Candidate.every.select_related("query", "persona_version").get(pk=candidate_id)


def held(candidate: Candidate):
    """The row, as long as this very attempt holds it."""
    return Candidate.every.filter(pk=candidate.pk, status=RUNNING, attempts=candidate.attempts)


def put_off(candidate: Candidate, failure: CallFailed) -> None:
    """Store the class of the failure; another try later, or parked for good."""
    tries = candidate.attempts - candidate.tries_from
    again = failure.retry and tries < TRIES and failure.wait <= LONGEST_WAIT
    pause = min(LONGEST_BACKOFF, BACKOFF_SECONDS * 2**tries)
    wait = failure.wait + random.uniform(0, pause)  # noqa: S311 - full jitter
    held(candidate).update(
        status=REQUESTED if again else FAILED,
        next_try_at=Now() + timedelta(seconds=wait) if again else None,
        lease_expires_at=None,
        error_code=failure.code,
        error=endpoints.sentence(failure.code, candidate.endpoint),
    )
    log.info("candidate %s: attempt %s: %s", candidate.pk, candidate.attempts, failure.code)


@contextmanager
def lease_kept(candidate: Candidate):
    """Renew the lease from a thread for as long as the block runs."""
    stop = threading.Event()
    thread = threading.Thread(
        target=_renew_until, args=(candidate, stop, heartbeat.pulse()), daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _renew_until(candidate: Candidate, stop: threading.Event, pulse: Callable[[], None]) -> None:
    # No longer than two calls can take: what hangs beyond that is given to somebody else.
    rounds = int(2 * endpoints.LONGEST_TIMEOUT / RENEW_SECONDS) + 1
    try:
        for _round in range(rounds):
            if stop.wait(RENEW_SECONDS):
                return
            try:
                held(candidate).update(lease_expires_at=Now() + LEASE)
                pulse()
            except (OperationalError, InterfaceError) as error:
                log.warning(
                    "candidate %s: lease not renewed (%s)", candidate.pk, type(error).__name__
                )
                connection.close()
    finally:
        connection.close()  # this thread's own
