"""The Celery application. The broker only notifies workers: what is to do is in the rows."""

import gc
import logging
import os
import platform
import time
from typing import Any

from celery import Celery
from celery.signals import heartbeat_sent, worker_init

from annotation.core import telemetry

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "annotation.settings")
# `manage.py prepare` ran the checks, which import every page: twenty megabytes of each worker.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

log = logging.getLogger(__name__)
app = Celery("annotation")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

SIGN_SECONDS = 15
_signed_at = 0.0


@worker_init.connect
def share_memory(**kwargs: Any) -> None:
    """Keep what is imported by now out of the collector, whose marks would unshare its pages."""
    telemetry.start("worker")
    gc.collect()
    gc.freeze()


@heartbeat_sent.connect
def sign_of_life(**kwargs: Any) -> None:
    """Note now and then that this worker lives, in the database and as a file for its container.

    It runs in the worker's own process, so a worker is told apart from beat, which sends the tasks.
    """
    global _signed_at
    if time.monotonic() - _signed_at < SIGN_SECONDS:
        return
    _signed_at = time.monotonic()
    from django.conf import settings
    from django.db import Error, connection

    from annotation.core import jobs

    try:
        (settings.DATA / "run").mkdir(mode=0o700, exist_ok=True)
        (settings.DATA / "run" / f"worker-{platform.node()}").touch(mode=0o600)
        jobs.beat()
    except (OSError, Error) as error:
        log.warning("no sign of life: %s", type(error).__name__)
    finally:
        connection.close()  # children that are forked later must not share it
