"""How the one worker of `manage.py up` saves memory: its own beat, and processes when needed."""

import time
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


class Autoscaler(autoscale.Autoscaler):
    """Adds processes when a task has waited a moment, and ends those that nothing needs.

    Celery's own adds one as soon as two tasks come together, which periodic tasks do all day, and
    ends none while tasks come.

    It sees tasks that the worker has fetched only. Where the broker was away, Celery fetches as
    many as processes run at that moment: none would ever wait, so that is switched off here.
    """

    LOOK_SECONDS = 2
    IDLE_SECONDS = 60

    def __init__(self, pool: Any, *limits: int, worker: WorkController, **options: Any) -> None:
        super().__init__(pool, *limits, worker=worker, keepalive=self.LOOK_SECONDS, **options)
        worker.app.conf.worker_enable_prefetch_count_reduction = False
        self.before = 0  # tasks at the look before
        self.idle_since: float | None = None

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
        else:
            return
        self.pool.maintain_pool()
