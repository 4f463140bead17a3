"""The one process of both workers: short work that ends by itself ends the process."""

import os
import signal

import pytest
from celery import Celery
from celery.worker import state

from annotation import worker


@pytest.mark.parametrize(
    ("should_stop", "signals"), [(None, [(os.getpid(), signal.SIGTERM)]), (0, [])]
)
def test_short_work_that_fails_ends_the_process_unless_that_ends_already(
    monkeypatch, should_stop, signals
):
    sent = []

    class Failing:
        def __init__(self, **options):
            assert options["queues"] == ["notices", "webhooks"]

        def start(self):
            raise OSError("no more files")

    monkeypatch.setattr(state, "should_stop", should_stop)
    monkeypatch.setattr(Celery, "WorkController", Failing)
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    with pytest.raises(OSError, match="no more files"):
        worker.short_worker()
    assert sent == signals


@pytest.fixture
def looked(monkeypatch):
    """(signals sent, looks taken) of a process that is large; a look takes no time."""
    sent, looks = [], []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append(number))
    monkeypatch.setattr(worker.time, "sleep", looks.append)
    monkeypatch.setattr(worker, "resident", lambda: worker.ROOM)
    return sent, looks


def test_a_large_process_that_is_idle_ends_so_that_a_small_one_is_started(looked):
    worker.end_when_grown()
    assert looked == ([signal.SIGTERM], [worker.LOOK_SECONDS] * worker.LOOKS)


def test_a_process_that_is_small_or_has_a_task_begins_to_count_anew(looked, monkeypatch):
    sizes = iter([worker.ROOM, worker.ROOM - 1, *[worker.ROOM] * (1 + worker.LOOKS)])
    tasks = iter([0, 0, 0, 1, *[0] * worker.LOOKS])

    class Requests:
        def __len__(self):
            return next(tasks)

    monkeypatch.setattr(worker, "resident", lambda: next(sizes))
    monkeypatch.setattr(state, "active_requests", Requests())
    worker.end_when_grown()
    assert looked == ([signal.SIGTERM], [worker.LOOK_SECONDS] * (4 + worker.LOOKS))


def test_memory_is_what_the_system_says():
    assert 10_000_000 < worker.resident() < 2_000_000_000
