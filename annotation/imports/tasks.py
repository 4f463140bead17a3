from uuid import UUID

from annotation.celery import app
from annotation.core import jobs
from annotation.imports import run


# A gigabyte takes minutes; an hour is when the broker would hand the task out again.
@app.task(name="annotation.imports.tasks.carry_out", soft_time_limit=3_000, time_limit=3_060)
def carry_out(pk: str) -> None:
    """Carry out one requested import, then notify of those that waited for it."""
    if run.run(pk):
        notify_due()


@app.task(name="annotation.imports.tasks.notify_due")
def notify_due() -> None:
    """Every 20 s: imports that nobody works at."""
    for pk in run.due():
        notify(pk)


def notify(pk: UUID | str) -> None:
    """Notify a worker of an import at once."""
    jobs.enqueue(carry_out, pk)
