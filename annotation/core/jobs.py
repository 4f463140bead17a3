"""A job is a row: its status, its lease, and how often it was tried.

A worker takes a row by one conditional update and renews the lease from a thread while it works.
Only the attempt that holds the lease may store anything: ``held`` is the row for as long as it
does. The broker only notifies workers; a row whose notification or worker was lost is found by
``waiting`` once its lease has run out. A row that was tried TRIES times is closed by ``exhausted``.
"""

import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, models, transaction
from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Coalesce, Now

if TYPE_CHECKING:
    from celery import Task


from annotation.core import sql
from annotation.core.models import Heartbeat

log = logging.getLogger(__name__)

TRIES = 3
# A killed worker's row is back in work within a lease and one turn of the periodic task.
LEASE = timedelta(seconds=30)
RENEW_SECONDS = 10


class TakenOver(Exception):  # noqa: N818 - not an error: the work is somebody else's or nobody's
    """This attempt no longer holds the row: its lease ran out, or the job was cancelled."""


class Job(models.Model):
    """The columns of a job. A table may declare a ``status`` of its own with further values."""

    # The path to whose job it is: a study's, or a person's. JOBS_AT_ONCE of them run at once.
    OWNER: ClassVar[str] = ""

    class Status(models.TextChoices):
        REQUESTED = "requested"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    status = models.CharField(max_length=15, choices=Status, default=Status.REQUESTED)
    # Attempt numbers only grow: a late attempt must not match the one that holds the row.
    attempts = models.PositiveSmallIntegerField(default=0)
    # Attempts that do not count as tries: before a retry was requested, or the job was postponed.
    tries_from = models.PositiveSmallIntegerField(default=0)
    lease_expires_at = models.DateTimeField(null=True)
    next_try_at = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=40, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        abstract = True

    @property
    def tries(self) -> int:
        """Attempts since the job was last requested."""
        return self.attempts - self.tries_from


REQUESTED, RUNNING, FAILED = Job.Status.REQUESTED, Job.Status.RUNNING, Job.Status.FAILED


def waiting(rows: QuerySet) -> QuerySet:
    """Those of ``rows`` that nobody works at and that may start now, tried too often or not."""
    due = Q(status=REQUESTED) & (Q(next_try_at=None) | Q(next_try_at__lte=Now()))
    return rows.filter(due | Q(status=RUNNING, lease_expires_at__lt=Now()))


def startable(rows: QuerySet) -> QuerySet:
    """Those of ``rows`` that ``take`` would take."""
    rows = waiting(rows).filter(attempts__lt=F("tries_from") + TRIES)
    if not (owner := rows.model.OWNER):
        return rows
    # A subquery, not a join: `take` makes an UPDATE of it.
    busy = rows.model._base_manager.filter(**{owner: OuterRef(owner)}, status=RUNNING)
    busy = busy.filter(lease_expires_at__gte=Now()).order_by().values(owner)
    running = Coalesce(Subquery(busy.annotate(n=Count("pk")).values("n")), 0)
    return rows.alias(running=running).filter(running__lt=settings.JOBS_AT_ONCE)


def exhausted(rows: QuerySet) -> QuerySet:
    """Those of ``rows`` that nobody works at and that had their TRIES: to be closed in words."""
    return waiting(rows).filter(attempts__gte=F("tries_from") + TRIES)


def lease(attempts: int | F | CombinedExpression) -> dict:
    """Values of a row that is taken for the attempt of that number."""
    return {"status": RUNNING, "attempts": attempts, "lease_expires_at": Now() + LEASE}


def take(rows: QuerySet, pk: Any) -> bool:
    """Take the row ``pk`` for one attempt, where it is among ``rows`` and startable."""
    with transaction.atomic():
        if rows.model.OWNER:  # what runs of one owner is counted in turn
            lock(f"take {rows.model._meta.label_lower}")
        return bool(startable(rows.filter(pk=pk)).update(**lease(F("attempts") + 1)))


def lock(name: str) -> None:
    """Hold the lock ``name`` to the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [name])


def held(job: Job) -> QuerySet:
    """The row, as long as this very attempt holds it."""
    rows = type(job)._base_manager
    return rows.filter(pk=job.pk, status=RUNNING, attempts=job.attempts)


def end(job: Job, status: str, **fields: Any) -> bool:
    """Give the row back with ``status`` and ``fields``; False where the attempt came too late."""
    fields = {"lease_expires_at": None, "next_try_at": None, **fields}
    return bool(held(job).update(status=status, **fields))


def retry_jobs(rows: QuerySet) -> int:
    """Ask once more for ``rows``, whatever became of them; how many."""
    return rows.update(
        status=REQUESTED, tries_from=F("attempts"), next_try_at=None, error_code="", error=""
    )


def enqueue(task: "Task", pk: object) -> bool:
    """Send ``task`` for the row ``pk``; without a broker the row waits for the periodic task."""
    # Here, because every model of a job imports this module, and most commands send nothing.
    from kombu.exceptions import OperationalError as BrokerError
    from redis import RedisError

    try:
        task.delay(str(pk))
    except (BrokerError, RedisError) as error:
        log.warning("no broker (%s): %s waits for the next turn", type(error).__name__, pk)
        return False
    return True


class Lease:
    """The lease of one attempt while it works."""

    def __init__(self, job: Job, **fields: Any):
        # ``fields`` are written at each renewal: the job's progress.
        self.job, self.fields, self.lost = job, fields, False

    def check(self) -> None:
        """Raise TakenOver where the last renewal did not find the row held."""
        if self.lost:
            raise TakenOver

    def renew(self) -> None:
        """Renew now; afterwards ``lost`` is true if another attempt has the row."""
        renewed = held(self.job).update(lease_expires_at=Now() + LEASE, **self.fields)
        # A row that is not there yet is one whose transaction is still open.
        self.lost = not renewed and type(self.job)._base_manager.filter(pk=self.job.pk).exists()

    def confirm(self) -> None:
        """Renew now, and raise TakenOver if another attempt has the row."""
        self.renew()
        self.check()


@contextmanager
def renewed(
    job: Job, *, every: float = RENEW_SECONDS, longest: float = 0, **fields: Any
) -> Iterator[Lease]:
    """A Lease of ``job`` that a thread renews ``every`` so many seconds while the block runs.

    In a worker's task each renewal is a sign of life of the worker, too, and so is the beginning.

    After ``longest`` seconds (0: never) it is renewed no more: what hangs is given to another.
    """
    held_lease, stop, give_sign = Lease(job, **fields), threading.Event(), pulse()
    rounds: Iterable[int] = range(int(longest / every) + 1) if longest else itertools.count()

    def renew_until_stopped() -> None:
        for _round in rounds:
            if stop.wait(every):
                return
            try:
                held_lease.renew()
                give_sign()
            except (DatabaseError, InterfaceError) as error:
                if not sql.is_outage(error):
                    raise
                log.warning("%s: lease not renewed (%s)", job.pk, type(error).__name__)
            finally:
                connection.close()  # this thread's own: work that waits needs none

    give_sign()
    thread = threading.Thread(target=renew_until_stopped, daemon=True)
    thread.start()
    try:
        yield held_lease
    finally:
        stop.set()
        thread.join()


SILENCE = timedelta(seconds=60)


def beat() -> None:
    """Say that a worker is alive."""
    Heartbeat.objects.update_or_create(name="worker", defaults={"at": Now()})


def turn() -> None:
    """Note that beat's periodic task came through: beat sends it, a worker runs it."""
    Heartbeat.objects.update_or_create(name="beat", defaults={"at": Now()})
    beat()


def pulse() -> Callable[[], None]:
    """``beat`` inside a task that a worker runs, and nothing inside a command, which is no worker.

    Long work calls the result as it renews its lease: the task that beats waits behind it. It may
    be called from a thread of the task; ``pulse`` itself belongs in the task's own.
    """
    from celery import current_app  # most commands have nothing to do with Celery

    return beat if current_app.current_worker_task else lambda: None


def worker_alive() -> bool:
    """Whether a worker gave a sign within the last minute."""
    return Heartbeat.objects.filter(name="worker", at__gt=Now() - SILENCE).exists()
