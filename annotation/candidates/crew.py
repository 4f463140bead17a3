"""Many calls at once in one worker: threads that wait for model servers, each with its own row.

What may run at once is decided in the database (``calls.claim`` counts an endpoint's places), so
any number of workers can have a crew.
"""

import threading
import time
from collections import deque

from django.db import connection

from annotation.candidates import calls, generate, proposals

MOST_THREADS = 32
# A crew ends well within a task's time limit; the next notification starts another.
SECONDS = 240
AHEAD = 128


def write_one(pk):
    """Write the answer or the proposal ``pk``; the row, or None where it was not to be had."""
    return generate.write_one(pk) or proposals.write_one(pk)


def work(*, seconds: float = SECONDS, study=None) -> None:
    """Write what is due until nothing is, or for so many ``seconds``."""
    size = min(MOST_THREADS, len(calls.due(study)))
    if not size:
        return
    rows = _Rows(study, time.monotonic() + seconds)
    crew = [threading.Thread(target=_member, args=(rows,), daemon=True) for _ in range(size)]
    for member in crew:
        member.start()
    for member in crew:
        member.join()


class _Rows:
    """Ids of due rows, each given once to this crew until it is looked up anew."""

    def __init__(self, study, end: float):
        self.study, self.end = study, end
        self.waiting, self.lock = deque(), threading.Lock()

    def take(self):
        """The next id; None where nothing is due or the time is over."""
        with self.lock:
            if time.monotonic() > self.end:
                return None
            if not self.waiting:
                self.waiting.extend(calls.due(self.study, ahead=AHEAD))
            return self.waiting.popleft() if self.waiting else None


def _member(rows: _Rows) -> None:
    try:
        # A row that was not to be had is another's, or its endpoint has no place: no turn in vain.
        while (pk := rows.take()) and write_one(pk):
            pass
    finally:
        connection.close()  # this thread's own
