"""When the worker of `manage.py up` adds a process and when it ends one."""

import os
import subprocess
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from celery import Celery
from celery.worker import state

from annotation import worker
from annotation.worker import Autoscaler


@dataclass
class Processes:
    """Counts as Celery's pool does."""

    num_processes: int = 1
    changes: list[int] = field(default_factory=list)
    info: dict = field(default_factory=lambda: {"processes": [os.getpid()]})

    def grow(self, number: int) -> None:
        self.num_processes += number
        self.changes.append(number)

    def shrink(self, number: int) -> None:
        self.grow(-number)

    def maintain_pool(self) -> None:
        assert 1 <= self.num_processes <= 4


@pytest.fixture
def clock(monkeypatch):
    """Seconds that a test sets, and as many tasks in the worker as it says."""
    times = {"now": 100.0, "tasks": 0}
    monkeypatch.setattr(worker.time, "monotonic", lambda: times["now"])
    monkeypatch.setattr(Autoscaler, "qty", property(lambda scaler: times["tasks"]))
    return times


def make_scaler(pool: Processes, most: int) -> Autoscaler:
    """The scaler as Celery makes it, of a worker with another configuration than the product's."""
    return Autoscaler(pool, most, 1, worker=SimpleNamespace(app=Celery(set_as_current=False)))


def run(scaler: Autoscaler, clock: dict, seconds: int, tasks: int) -> None:
    """Let time go by with so many tasks in the worker, looked at as Celery's timer does."""
    clock["tasks"] = tasks
    for _ in range(seconds // Autoscaler.LOOK_SECONDS):
        clock["now"] += Autoscaler.LOOK_SECONDS
        scaler.maybe_scale()


def test_a_process_is_added_for_a_task_that_waits_and_ended_when_idle_for_a_minute(clock):
    pool = Processes()
    scaler = make_scaler(pool, 2)
    run(scaler, clock, seconds=10, tasks=1)
    assert pool.changes == []
    run(scaler, clock, seconds=2, tasks=2)
    assert pool.changes == []  # it waits since this moment
    run(scaler, clock, seconds=2, tasks=2)
    assert pool.changes == [1]
    run(scaler, clock, seconds=60, tasks=1)
    assert pool.changes == [1]
    run(scaler, clock, seconds=2, tasks=0)
    assert pool.changes == [1, -1]


def test_tasks_that_come_together_and_end_soon_add_no_process(clock):
    pool = Processes()
    scaler = make_scaler(pool, 2)
    for _ in range(10):
        clock["tasks"] = 2
        for _ in range(3):
            scaler.maybe_scale(object())
        run(scaler, clock, seconds=2, tasks=2)
        run(scaler, clock, seconds=2, tasks=0)
    assert pool.changes == []


@pytest.mark.parametrize(("tasks", "processes"), [(2, 2), (4, 4), (9, 4)])
def test_as_many_processes_as_tasks_wait_up_to_the_most(clock, tasks, processes):
    pool = Processes()
    run(make_scaler(pool, 4), clock, seconds=20, tasks=tasks)
    assert pool.num_processes == processes


def test_tasks_are_counted_as_celery_reserves_them():
    assert make_scaler(Processes(), 2).qty == len(state.reserved_requests) == 0


def test_tasks_are_fetched_ahead_also_after_the_broker_was_away():
    scaler = make_scaler(Processes(), 2)
    assert scaler.worker.app.conf.worker_enable_prefetch_count_reduction is False


@pytest.mark.parametrize(("growth", "changes"), [(30 * 2**20 - 1, []), (30 * 2**20, [1, -1])])
def test_a_process_that_has_grown_is_replaced_once_no_task_has_taken_long_for_two_minutes(
    clock, monkeypatch, growth, changes
):
    sizes = {os.getpid(): 10**8, 7: 10**8 + growth}
    monkeypatch.setattr(worker, "memory", sizes.__getitem__)
    pool = Processes(info={"processes": [7]})
    scaler = make_scaler(pool, 2)
    run(scaler, clock, seconds=60, tasks=0)
    run(scaler, clock, seconds=4, tasks=1)
    run(scaler, clock, seconds=118, tasks=0)
    assert pool.changes == []
    run(scaler, clock, seconds=2, tasks=0)
    assert pool.changes == changes


def test_a_process_that_has_just_ended_is_not_replaced_a_second_time(clock):
    pool = Processes(info={"processes": []})
    run(make_scaler(pool, 2), clock, seconds=300, tasks=0)
    assert pool.changes == []


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_counts_what_is_no_file_and_nobody_has_none():
    holds = "data = bytearray(b'x') * (50 * 2**20); print(flush=True); input()"
    sizes = []
    for statement in ("print(flush=True); input()", holds):
        argv = [sys.executable, "-S", "-c", statement]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            sizes.append(worker.memory(process.pid))
            process.communicate(b"\n")
    assert 49 < (sizes[1] - sizes[0]) / 2**20 < 60
    assert worker.memory(process.pid) == 0
