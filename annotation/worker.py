"""How the one worker of `manage.py up` saves memory: its own beat, and processes when needed."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from celery import bootsteps
from celery.beat import EmbeddedService
from celery.worker import WorkController, autoscale


class Beat(bootsteps.StartStopStep):
    """Sends the periodic tasks from a thread of the worker (`celery worker --embedded-beat`).

    A process of its own, which Celery's `-B` starts, would not be started again where it ends.
    Only one worker of an installation may do so.
    """

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: WorkController, embedded_beat: bool = False, **options: Any) -> None:
        super().__init__(worker, **options)
        self.enabled = embedded_beat

    def create(self, worker: WorkController) -> Any:
        """The thread. It keeps no file of when tasks ran: each is due within minutes."""
        return EmbeddedService(worker.app, thread=True, scheduler_cls="celery.beat:Scheduler")

    def stop(self, worker: WorkController) -> None:
        """Ask the thread to end; while the broker is away it would not, so nobody waits for it."""
        self.obj.service.stop()

    terminate = stop


def memory(pid: int) -> int:
    """Return how many bytes a process has in memory that are no file's; 0 where nobody says."""
    with contextlib.suppress(OSError):  # no Linux, or it has ended
        _, resident, files, *_ = map(int, Path(f"/proc/{pid}/statm").read_text().split())
        return (resident - files) * os.sysconf("SC_PAGE_SIZE")
    return 0


class Autoscaler(autoscale.Autoscaler):
    """Adds processes when a task has waited a moment, and ends those that nothing needs.

    What a computation imported and computed stays in its process, so one that has grown is replaced
    once no task has taken long for two minutes.

    Celery's own adds one as soon as two tasks come together, which periodic tasks do all day, and
    ends none while tasks come.

    It sees tasks that the worker has fetched only. Where the broker was away, Celery fetches as
    many as processes run at that moment: none would ever wait, so that is switched off here.
    """

    LOOK_SECONDS = 2
    IDLE_SECONDS = 60
    QUIET_SECONDS = 120
    GROWTH_BYTES = 30 * 2**20

    def __init__(self, pool: Any, *limits: int, worker: WorkController, **options: Any) -> None:
        super().__init__(pool, *limits, worker=worker, keepalive=self.LOOK_SECONDS, **options)
        worker.app.conf.worker_enable_prefetch_count_reduction = False
        self.before = 0  # tasks at the look before
        self.idle_since: float | None = None
        self.quiet_since = time.monotonic()

    def maybe_scale(self, req: object = None) -> None:
        """Have a process for each task that is there at two looks in a row.

        A timer calls it, and Celery at each task ``req``, when others that end soon may wait too.
        """
        if req is not None:
            return
        lasting, self.before = min(self.qty, self.before), self.qty
        needed = min(max(lasting, self.min_concurrency), self.max_concurrency)
        now = time.monotonic()
        if needed >= self.processes:
            self.idle_since = None
        elif self.idle_since is None:
            self.idle_since = now
        if needed > self.processes:
            self.scale_up(needed - self.processes)
        elif self.idle_since is not None and now - self.idle_since >= self.IDLE_SECONDS:
            self.idle_since = None
            self._shrink(self.processes - needed)
        elif not self._replaces_grown(lasting, now):
            return
        self.pool.maintain_pool()

    def _replaces_grown(self, lasting: int, now: float) -> bool:
        """Start a process and end the only one there is, where that is larger than it began."""
        if lasting or self.processes > 1:
            self.quiet_since = now
        if now - self.quiet_since < self.QUIET_SECONDS:
            return False
        self.quiet_since = now
        largest = max(map(memory, self.pool.info["processes"]), default=0)
        if largest - memory(os.getpid()) < self.GROWTH_BYTES:  # it began as a copy of this one
            return False
        self.scale_up(1)
        self._shrink(1)
        return True
