"""Whether a worker and beat are running: each updates a row regularly, a busy worker too."""

from collections.abc import Callable
from datetime import timedelta

from django.db.models.functions import Now

from annotation.core.models import Heartbeat

SILENCE = timedelta(seconds=60)


def beat() -> None:
    """Say that a worker is alive."""
    Heartbeat.objects.update_or_create(name="worker", defaults={"at": Now()})


def turn() -> None:
    """Note that beat's periodic task came through: beat sends it, a worker runs it."""
    Heartbeat.objects.update_or_create(name="beat", defaults={"at": Now()})
    beat()


def pulse() -> Callable[[], None]:
    """``beat`` inside a task that a worker runs, and nothing inside a command, which is no worker.

    Long work calls the result as it renews its lease: the task that beats waits behind it. It may
    be called from a thread of the task; ``pulse`` itself belongs in the task's own.
    """
    from celery import current_app  # most commands have nothing to do with Celery

    return beat if current_app.current_worker_task else lambda: None


def worker_alive() -> bool:
    """Whether a worker gave a sign within the last minute."""
    return Heartbeat.objects.filter(name="worker", at__gt=Now() - SILENCE).exists()
