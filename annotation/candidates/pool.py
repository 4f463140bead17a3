"""Many calls at once in one worker: threads that wait for model servers, each with its own row.

The pool's own thread does what the database is needed for: it takes rows, reserves and settles
what calls cost, stores answers and renews leases, each for all waiting threads in one statement.
What may run at once is decided in the database (``calls.claim_some`` counts an endpoint's places),
so any number of workers can have a pool. A place is free again once its answer is stored: a worker
that is killed repeats at most one call a place.
"""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from queue import Empty, SimpleQueue

from django.db import InterfaceError, OperationalError, connection, transaction

from annotation.candidates import calls, endpoints, generate, proposals, results, spending
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Candidate, Generated, Proposal
from annotation.candidates.results import Written
from annotation.core import heartbeat, jobs

log = logging.getLogger(__name__)

MOST_THREADS = 32
# A pool ends well within a task's time limit; the next notification starts another.
SECONDS = 240
# Rows are read so many for each place of an endpoint, and read anew after so many seconds.
AHEAD, FRESH_SECONDS = 4, 5
# How long a thread waits for its reservation before it leaves its row to another.
RESERVE_SECONDS = 60
WRITE: dict[type[Generated], Callable] = {Candidate: generate.write, Proposal: proposals.write}


def write_one(pk) -> Generated | None:
    """Write the answer or the proposal ``pk``; the row, or None where it was not to be had."""
    return generate.write_one(pk) or proposals.write_one(pk)


def work(*, seconds: float = SECONDS, study=None) -> None:
    """Write what is due until nothing is, or for so many ``seconds``."""
    _Pool(study, time.monotonic() + seconds).run()


@dataclass(frozen=True)
class _Asked:
    """A wish and where its reservation is waited for."""

    wish: spending.Wish
    answer: Future


@dataclass(frozen=True)
class _Finished:
    """A row and what its thread ended with: an answer, a failure, or None."""

    row: Generated
    outcome: Written | CallFailed | None


class _Pool(spending.Ledger):
    """Threads that call, and the thread that does everything else; the ledger of its calls."""

    def __init__(self, study, end: float):
        self.ahead, self.end = _Ahead(study), end
        self.rows: SimpleQueue[Generated | None] = SimpleQueue()
        self.events: SimpleQueue = SimpleQueue()
        self.threads: list[threading.Thread] = []
        # {row: (its lease, when it is renewed no more)}
        self.running: dict[Generated, tuple[jobs.Lease, float]] = {}
        self.pulse, self.turn = heartbeat.pulse(), time.monotonic() + jobs.RENEW_SECONDS

    def run(self) -> None:
        """Until nothing is due and nothing runs."""
        try:
            self._start()
            while self.running:
                self._carry_out(self._arrived())
                self._start()
                if time.monotonic() >= self.turn:
                    self.turn += jobs.RENEW_SECONDS
                    self._renew()
        finally:
            for _thread in self.threads:
                self.rows.put(None)

    # --- In the pool's own thread -------------------------------------------------------------

    def _start(self) -> None:
        """Give the next rows to threads, as many as are free and as endpoints take."""
        if time.monotonic() > self.end:
            return
        for name in self.ahead.names() if len(self.running) < MOST_THREADS else ():
            for row in self.ahead.claim(name, MOST_THREADS - len(self.running)):
                hangs = time.monotonic() + calls.LONGEST_LEASE
                self.running[row] = (jobs.Lease(row), hangs)
                self.rows.put(row)
        while len(self.threads) < len(self.running):
            self.threads.append(threading.Thread(target=self._member, daemon=True))
            self.threads[-1].start()

    def _arrived(self) -> list:
        """What threads asked for or ended with, waited for until leases are due to be renewed."""
        events = []
        try:
            events.append(self.events.get(timeout=max(0.0, self.turn - time.monotonic())))
            while True:
                events.append(self.events.get_nowait())
        except Empty:
            return events

    def _carry_out(self, events: list) -> None:
        """Settle, pay, reserve and store what was asked for, in one transaction."""
        finished = [event for event in events if isinstance(event, _Finished)]
        asked = [event for event in events if isinstance(event, _Asked)]
        with transaction.atomic():
            reserved = spending.account(
                [event for event in events if isinstance(event, spending.Settlement)],
                [event for event in events if isinstance(event, spending.Payment)],
                [event.wish for event in asked],
            )
            results.store([end.outcome for end in finished if isinstance(end.outcome, Written)])
            for end in finished:
                if isinstance(end.outcome, CallFailed):
                    calls.put_off(end.row, end.outcome)
        for event, reservation in zip(asked, reserved, strict=True):
            event.answer.set_result(reservation)
        for end in finished:
            del self.running[end.row]

    def _renew(self) -> None:
        """Renew every lease but those of calls that hang."""
        leases = [lease for lease, hangs in self.running.values() if time.monotonic() < hangs]
        try:
            self.pulse()
            for lease in leases:
                lease.renew()
        except (OperationalError, InterfaceError) as error:
            log.warning("%s leases not renewed (%s)", len(leases), type(error).__name__)
            connection.close()

    # --- In the threads that call -------------------------------------------------------------

    def _member(self) -> None:
        spending.ledger.set(self)
        try:
            while row := self.rows.get():
                self.events.put(_Finished(row, self._outcome(row)))
        finally:
            connection.close()  # this thread's own

    def _outcome(self, row: Generated) -> Written | CallFailed | None:
        try:
            return WRITE[type(row)](row)
        except CallFailed as failure:
            return failure
        except Exception:
            # The row stays claimed until its lease runs out, and is tried again then.
            log.exception("%s %s was not written", type(row).__name__, row.pk)
            return None

    def reserve(self, wish: spending.Wish) -> spending.Reservation:
        asked = _Asked(wish, Future())
        self.events.put(asked)
        reservation = asked.answer.result(RESERVE_SECONDS)
        if isinstance(reservation, CallFailed):
            raise reservation
        return reservation

    def settle(self, settlement: spending.Settlement) -> None:
        self.events.put(settlement)

    def pay(self, payment: spending.Payment) -> None:
        self.events.put(payment)


class _Ahead:
    """Due rows of every endpoint, read some ahead of their being taken."""

    def __init__(self, study):
        self.study = study
        self.read: dict[str, deque[Generated]] = {}
        self.looked_at = -math.inf

    def names(self) -> list[str]:
        """Endpoints that rows wait for; all are read anew where nothing is left or it is old."""
        if not any(self.read.values()) or time.monotonic() - self.looked_at > FRESH_SECONDS:
            self.looked_at = time.monotonic()
            self.read = {
                name: deque(calls.upcoming(name, AHEAD * _concurrency(name), self.study))
                for name in calls.names_due(self.study)
            }
        return list(self.read)

    def claim(self, name: str, most: int) -> list[Generated]:
        """Take up to ``most`` rows of ``name`` for this pool."""
        return calls.claim_some(name, self.read[name], most) if self.read[name] else []


def _concurrency(name: str) -> int:
    server = endpoints.configured(name)
    return server.concurrency if server else 1
