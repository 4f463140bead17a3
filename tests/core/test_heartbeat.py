from datetime import timedelta

import pytest
from django.utils import timezone

from annotation.celery import app
from annotation.core import jobs, tasks
from annotation.core.models import Heartbeat

pytestmark = pytest.mark.django_db


def test_a_worker_is_alive_for_a_minute_after_its_last_sign():
    assert not jobs.worker_alive()
    tasks.beat()
    assert jobs.worker_alive()
    for seconds, alive in ((59, True), (61, False)):
        Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=seconds))
        assert jobs.worker_alive() is alive


def test_work_shows_a_worker_inside_a_task_only():
    def work():
        jobs.pulse()()

    task = app.task(work, name="tests.work")
    work()
    assert not jobs.worker_alive()
    try:
        task.apply(throw=True)
    finally:
        app.tasks.unregister("tests.work")
    assert jobs.worker_alive()
