"""The one worker of `manage.py up`: threads for tasks, and the clock of the periodic ones.

Without Celery's command line, whose shell takes ten megabytes for good.
"""

import logging
import os
import sys

from celery.beat import EmbeddedService

from annotation.celery import app


def main() -> int | None:
    """Work until SIGQUIT or SIGTERM; return the exit status."""
    worker = app.Worker(
        loglevel=logging.INFO, pool="threads", concurrency=max(2, os.cpu_count() or 2)
    )
    # A thread: the process that `celery worker --beat` starts is not started again where it dies.
    EmbeddedService(app, thread=True, scheduler_cls="celery.beat:Scheduler").start()
    worker.start()
    return worker.exitcode


if __name__ == "__main__":
    sys.exit(main())
