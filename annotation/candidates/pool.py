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
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from annotation.candidates import calls, endpoints, generate, proposals, results, spending
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Candidate, Generated, Proposal
from annotation.candidates.results import Written
from annotation.core import jobs
from annotation.studies.models import Study

log = logging.getLogger(__name__)

MOST_THREADS = 32
# A pool ends well within a task's time limit; the next notification starts another.
SECONDS = 240
# Rows are read so many for each place of an endpoint, and read anew after so many seconds.
AHEAD, FRESH_SECONDS = 4, 5
# How long a thread waits for its reservation before it leaves its row to another.
RESERVE_SECONDS = 60
# Events that follow each other so closely are carried out together, this many seconds' worth at
# most: a transaction costs much the same for one event as for thirty.
GAP_SECONDS, GATHER_SECONDS = 0.005, 0.02
WRITE: dict[type[Generated], Callable] = {Candidate: generate.write, Proposal: proposals.write}


def write_one(pk: UUID | str) -> Generated | None:
    """Write the answer or the proposal ``pk``, if it is due and nobody else has it.

    May be called any number of times and may die at any point: one attempt at most stores
    something. Returns the row as it was claimed, None where it was not to be had.
    """
    row = calls.claim(pk)
    if row is None:
        return None
    try:
        with calls.renewed(row):
            written = WRITE[type(row)](row)
            results.store_answers([written] if written else [])
    except CallFailed as failure:
        calls.put_off(row, failure)
    return row


def write_next(study: Study) -> bool:
    """Write one row of ``study`` that is due, after reaping; False where none was to be had."""
    calls.reap()
    return any(write_one(pk) for pk in calls.calls_due(study)[:1])


@contextmanager
def place() -> Iterator[bool]:
    """Hold one of the places for pools of workers' tasks while the block runs; False: all held.

    A pool takes up what all are asked for: more than GENERATION_POOLS would only keep workers from
    what else is to do.
    """
    keys = [f"pool {number}" for number in range(settings.GENERATION_POOLS)]
    held = next((key for key in keys if _answer("pg_try_advisory_lock", key)), None)
    try:
        yield held is not None
    finally:
        if held:
            _answer("pg_advisory_unlock", held)


def _answer(function: str, key: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [key])
        return cursor.fetchone()[0]


def work(*, seconds: float = SECONDS, study: Study | None = None) -> None:
    """Write what is due until nothing is, or for so many ``seconds``."""
    _Pool(study, time.monotonic() + seconds).run()


@dataclass(frozen=True)
class _Asked:
    """A wish, where its reservation is waited for, and what the thread's calls before it cost."""

    wish: spending.Wish
    answer: Future
    costs: list[spending.Settlement | spending.Payment]


@dataclass(frozen=True)
class _Finished:
    """A row, its outcome (an answer, a failure, or None), and what its thread's calls cost."""

    row: Generated
    outcome: Written | CallFailed | None
    costs: list[spending.Settlement | spending.Payment]


class _Costs(threading.local):
    """What a thread's calls cost, until its next event takes it along."""

    def __init__(self) -> None:
        self.entries: list[spending.Settlement | spending.Payment] = []

    def taken(self) -> list[spending.Settlement | spending.Payment]:
        entries, self.entries = self.entries, []
        return entries


class _Pool(spending.Ledger):
    """Threads that call, and the thread that does everything else; the ledger of its calls."""

    def __init__(self, study: Study | None, end: float) -> None:
        self.ahead, self.end = _Ahead(study), end
        self.rows: SimpleQueue[Generated | None] = SimpleQueue()
        self.events: SimpleQueue[_Asked | _Finished] = SimpleQueue()
        self.costs = _Costs()
        self.threads: list[threading.Thread] = []
        # {row: when its lease is renewed no more}
        self.running: dict[Generated, float] = {}
        self.pulse, self.turn = jobs.pulse(), time.monotonic() + jobs.RENEW_SECONDS

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
                self.running[row] = time.monotonic() + calls.LONGEST_LEASE
                self.rows.put(row)
        while len(self.threads) < len(self.running):
            self.threads.append(threading.Thread(target=self._member, daemon=True))
            self.threads[-1].start()

    def _arrived(self) -> list[_Asked | _Finished]:
        """What threads asked for or ended with, waited for until leases are due to be renewed."""
        events = []
        try:
            events.append(self.events.get(timeout=max(0.0, self.turn - time.monotonic())))
            end = time.monotonic() + GATHER_SECONDS
            while len(events) < len(self.running) and time.monotonic() < end:
                events.append(self.events.get(timeout=GAP_SECONDS))
        except Empty:
            pass
        return events

    def _carry_out(self, events: list[_Asked | _Finished]) -> None:
        """Settle, pay, reserve and store what was asked for, in one transaction."""
        finished = [event for event in events if isinstance(event, _Finished)]
        asked = [event for event in events if isinstance(event, _Asked)]
        costs = [cost for event in events for cost in event.costs]
        with transaction.atomic():
            reserved = spending.account(
                [cost for cost in costs if isinstance(cost, spending.Settlement)],
                [cost for cost in costs if isinstance(cost, spending.Payment)],
                [event.wish for event in asked],
            )
            results.store_answers(
                [end.outcome for end in finished if isinstance(end.outcome, Written)]
            )
            for end in finished:
                if isinstance(end.outcome, CallFailed):
                    calls.put_off(end.row, end.outcome)
        for event, reservation in zip(asked, reserved, strict=True):
            event.answer.set_result(reservation)
        for end in finished:
            del self.running[end.row]

    def _renew(self) -> None:
        """Renew every lease but those of calls that hang, in one statement a table."""
        rows = [row for row, hangs in self.running.items() if time.monotonic() < hangs]
        try:
            self.pulse()
            for table in {type(row) for row in rows}:
                jobs.renew_some(table, [row for row in rows if type(row) is table])
        except (OperationalError, InterfaceError) as error:
            log.warning("%s leases not renewed (%s)", len(rows), type(error).__name__)
            connection.close()

    # --- In the threads that call -------------------------------------------------------------

    def _member(self) -> None:
        spending.ledger.set(self)
        try:
            while row := self.rows.get():
                outcome = self._outcome(row)
                self.events.put(_Finished(row, outcome, self.costs.taken()))
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
        asked = _Asked(wish, Future(), self.costs.taken())
        self.events.put(asked)
        reservation = asked.answer.result(RESERVE_SECONDS)
        if isinstance(reservation, CallFailed):
            raise reservation
        return reservation

    def settle(self, settlement: spending.Settlement) -> None:
        self.costs.entries.append(settlement)

    def pay(self, payment: spending.Payment) -> None:
        self.costs.entries.append(payment)


class _Ahead:
    """Due rows of every endpoint, read some ahead of their being taken."""

    def __init__(self, study: Study | None) -> None:
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
