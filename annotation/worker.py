"""A worker of `manage.py up`: threads for tasks of the queues that it is given the names of.

With "notices" among them it also has the clock of the periodic tasks. Without Celery's command
line, whose shell takes ten megabytes for good.
"""

import logging
import os
import sys

from celery.beat import EmbeddedService

from annotation.celery import app


def main(queues: list[str]) -> int | None:
    """Work until SIGQUIT or SIGTERM; return the exit status."""
    threads = max(2, os.cpu_count() or 2)
    if "notices" in queues:
        # Threads that wait for slow listeners; what else is here takes milliseconds.
        threads = 4
        # A thread: the process that `celery worker --beat` starts is not started again if it dies.
        EmbeddedService(app, thread=True, scheduler_cls="celery.beat:Scheduler").start()
    worker = app.Worker(
        hostname=f"{queues[0]}@%h",
        queues=queues,
        loglevel=logging.INFO,
        pool="threads",
        concurrency=threads,
    )
    worker.start()
    return worker.exitcode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
