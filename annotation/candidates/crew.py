"""Many calls at once in one worker: threads that wait for model servers, each with its own row.

What may run at once is decided in the database (``calls.claim`` counts an endpoint's places), so
any number of workers can have a crew.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from django.db import InterfaceError, OperationalError, connection

from annotation.candidates import calls, generate, proposals
from annotation.candidates.models import Generated
from annotation.core import heartbeat, jobs

log = logging.getLogger(__name__)

MOST_THREADS = 32
# A crew ends well within a task's time limit; the next notification starts another.
SECONDS = 240
AHEAD = 128


def write_one(pk, lease: Callable[[Generated], AbstractContextManager] = calls.lease_kept):
    """Write the answer or the proposal ``pk``; the row, or None where it was not to be had.

    ``lease`` keeps the row's lease while the block of it runs.
    """
    return generate.write_one(pk, lease) or proposals.write_one(pk, lease)


def work(*, seconds: float = SECONDS, study=None) -> None:
    """Write what is due until nothing is, or for so many ``seconds``."""
    size = min(MOST_THREADS, len(calls.due(study)))
    if not size:
        return
    rows = _Rows(study, time.monotonic() + seconds)
    crew = [threading.Thread(target=_member, args=(rows,), daemon=True) for _ in range(size)]
    for member in crew:
        member.start()
    _wait(crew, rows)


def _wait(crew: list[threading.Thread], rows: "_Rows") -> None:
    """Until the crew is done; meanwhile renew the leases of its rows and the worker's heartbeat."""
    pulse, turn = heartbeat.pulse(), time.monotonic() + jobs.RENEW_SECONDS
    for member in crew:
        while member.is_alive():
            member.join(max(0.0, turn - time.monotonic()))
            if time.monotonic() >= turn:
                turn += jobs.RENEW_SECONDS
                rows.renew(pulse)


class _Rows:
    """Ids of due rows, each given once to this crew until it is looked up anew."""

    def __init__(self, study, end: float):
        self.study, self.end = study, end
        self.waiting, self.lock = deque(), threading.Lock()
        # {lease: when it is renewed no more}
        self.leases: dict[jobs.Lease, float] = {}

    def take(self):
        """The next id; None where nothing is due or the time is over."""
        with self.lock:
            if time.monotonic() > self.end:
                return None
            if not self.waiting:
                self.waiting.extend(calls.due(self.study, ahead=AHEAD))
            return self.waiting.popleft() if self.waiting else None

    @contextmanager
    def lease(self, row: Generated) -> Iterator[None]:
        """Let the crew's own thread renew the lease of ``row`` while the block runs."""
        lease = jobs.Lease(row)
        with self.lock:
            self.leases[lease] = time.monotonic() + calls.LONGEST_LEASE
        try:
            yield
        finally:
            with self.lock:
                del self.leases[lease]

    def renew(self, pulse: Callable[[], None]) -> None:
        """Renew every lease but those of calls that hang."""
        with self.lock:
            leases = [lease for lease, end in self.leases.items() if time.monotonic() < end]
        try:
            pulse()
            for lease in leases:
                lease.renew()
        except (OperationalError, InterfaceError) as error:
            log.warning("%s leases not renewed (%s)", len(leases), type(error).__name__)
            connection.close()


def _member(rows: _Rows) -> None:
    try:
        # A row that was not to be had is another's, or its endpoint has no place: no turn in vain.
        while (pk := rows.take()) and write_one(pk, rows.lease):
            pass
    finally:
        connection.close()  # this thread's own
