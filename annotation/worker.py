"""The worker of `manage.py up`: one process for all queues, with threads apart for short work.

Two consumers share what is imported, so that no long task keeps a notice or a webhook waiting and
the second worker's memory is saved. Without Celery's command line, whose shell takes ten megabytes.
"""

import logging
import os
import signal
import sys
import threading
import time
from pathlib import Path

from celery import Celery
from celery.beat import EmbeddedService
from celery.worker import state

from annotation.celery import app

SHORT = ["notices", "webhooks"]
LONG = ["imports", "generation", "results", "releases"]
# Threads that wait for slow listeners; what else is short takes milliseconds.
SHORT_THREADS = 4
# What results and releases import stays in memory: a process above so many bytes that has had
# nothing to do at so many looks ends, and its supervisor starts a small one.
ROOM, LOOKS, LOOK_SECONDS = 180_000_000, 4, 15


def short_worker() -> None:
    """Take short tasks until the process is told to end; for a thread."""
    # Which queues are taken is known to the application: a second one, of the same tasks.
    second = Celery("annotation", tasks=app.tasks, fixups=[], set_as_current=False)
    second.config_from_object("django.conf:settings", namespace="CELERY")
    try:
        second.WorkController(
            hostname=f"{SHORT[0]}@%h",
            queues=SHORT,
            pool="threads",
            concurrency=SHORT_THREADS,
            use_eventloop=False,  # a process has one
        ).start()
    finally:
        # Ended by itself: the process ends as well, and its supervisor starts it again.
        if state.should_stop is None:
            os.kill(os.getpid(), signal.SIGTERM)


def end_when_grown() -> None:
    """End the process once it is large and idle; for a thread."""
    idle = 0
    while idle < LOOKS:
        time.sleep(LOOK_SECONDS)
        idle = 0 if state.active_requests or resident() < ROOM else idle + 1
    os.kill(os.getpid(), signal.SIGTERM)


def resident() -> int:
    """The process's memory in bytes; 0 where the system has no /proc."""
    pages = Path("/proc/self/statm")
    return int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if pages.exists() else 0


def main() -> int | None:
    """Work until SIGQUIT or SIGTERM; return the exit status."""
    # Threads: the process that `celery worker --beat` starts is not started again if it dies.
    EmbeddedService(app, thread=True, scheduler_cls="celery.beat:Scheduler").start()
    worker = app.Worker(
        hostname=f"{LONG[0]}@%h",
        queues=LONG,
        loglevel=logging.INFO,
        pool="threads",
        concurrency=max(2, os.cpu_count() or 2),
    )
    app.finalize()
    for service in (short_worker, end_when_grown):
        threading.Thread(target=service, daemon=True).start()
    worker.start()
    return worker.exitcode


if __name__ == "__main__":
    sys.exit(main())
