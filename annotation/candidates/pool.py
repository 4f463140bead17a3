"""Many calls at once in one worker: threads that wait for model servers, each with its own row.

What may run at once is decided in the database (``calls.claim`` counts an endpoint's places), so
any number of workers can have a pool. A place is free again once its answer is stored: a worker
that is killed repeats at most one call a place.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from uuid import UUID

from django.conf import settings
from django.db import connection
from tqdm import tqdm

from annotation.candidates import calls, generate, proposals
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Candidate, Generated, Proposal
from annotation.core import jobs
from annotation.studies.models import Study

log = logging.getLogger(__name__)

MOST_THREADS = 32
# A pool ends well within a task's time limit; the next notification starts another.
SECONDS = 240
# How often a command that waits looks.
POLL_SECONDS = 0.5
WRITE: dict[type[Generated], Callable] = {
    Candidate: generate.write_answer,
    Proposal: proposals.write_proposal,
}


def write_one(pk: UUID | str) -> Generated | None:
    """Write the answer or the proposal ``pk``, if it is due and nobody else has it.

    May be called any number of times and may die at any point: one attempt at most stores
    something. Returns the row as it was claimed, None where it was not to be had.
    """
    row = calls.claim(pk)
    if row is not None:
        _write(row)
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


def wait_for(
    study: Study, counts: Callable[[], dict], unit: str, alone: Callable[[], None] = lambda: None
) -> None:
    """Wait, with a bar, until ``counts`` says that nothing is left to write.

    While no worker is running, of which ``alone`` is told once, the rows of ``study`` are written
    here.
    """
    is_told = False
    with tqdm(unit=unit, file=sys.stderr, disable=not sys.stderr.isatty()) as bar:
        while (now := counts())["requested"] + now["running"]:
            bar.total, bar.n = now["total"], now["done"] + now["failed"]
            bar.refresh()
            if jobs.worker_alive():
                time.sleep(POLL_SECONDS)
                continue
            if not is_told:
                is_told = True
                alone()
            if not write_next(study):
                time.sleep(POLL_SECONDS)


def work(*, seconds: float = SECONDS, study: Study | None = None) -> None:
    """Write what is due, in many threads, until nothing is or for so many ``seconds``."""
    end, give_sign = time.monotonic() + seconds, jobs.pulse()
    ended: SimpleQueue[Generated] = SimpleQueue()
    running = 0
    while True:
        if time.monotonic() < end:
            for row in _claimed(study, MOST_THREADS - running):
                threading.Thread(target=_write_in_thread, args=(row, ended), daemon=True).start()
                running += 1
        if not running:
            return
        with suppress(Empty):
            ended.get(timeout=jobs.RENEW_SECONDS)
            running -= 1
        give_sign()


def _claimed(study: Study | None, most: int) -> Iterator[Generated]:
    for pk in calls.calls_due(study)[:most]:
        if row := calls.claim(pk):
            yield row


def _write(row: Generated) -> None:
    try:
        with jobs.renewed(row, longest=calls.LONGEST_LEASE):
            WRITE[type(row)](row)
    except CallFailed as failure:
        calls.put_off(row, failure)


def _write_in_thread(row: Generated, ended: SimpleQueue[Generated]) -> None:
    try:
        _write(row)
    except Exception:
        # The row stays claimed until its lease runs out, and is tried again then.
        log.exception("%s %s was not written", type(row).__name__, row.pk)
    finally:
        connection.close()  # this thread's own
        ended.put(row)
