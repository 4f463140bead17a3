import logging

from annotation.celery import app
from annotation.core import jobs
from annotation.core.errors import DomainError
from annotation.evaluation import draws, runs

log = logging.getLogger(__name__)

# Well below a task's time limit; the next turn goes on where this ended.
TURN_SECONDS = 300


@app.task(name="annotation.evaluation.tasks.work")
def work(run_id: int) -> None:
    """One turn of a run; then workers are notified of its next, or of those that waited for it."""
    try:
        run = runs.carry_on(run_id, TURN_SECONDS)
    except (DomainError, jobs.TakenOver) as stopped:
        log.info("run %s: %s", run_id, stopped)
        return
    if run is not None and run.status == runs.REQUESTED:
        notify(run_id)
    elif run is not None:
        notify_due()


@app.task(name="annotation.evaluation.tasks.notify_due")
def notify_due() -> None:
    """Notify workers of every run that waits; called by beat."""
    for run_id in runs.due():
        notify(run_id)


@app.task(name="annotation.evaluation.tasks.draw_further")
def draw_further() -> None:
    """Draw the next rounds of tasks that go on until their intervals are narrow."""
    draws.carry_on()


def notify(run_id: int) -> None:
    jobs.enqueue(work, run_id)
