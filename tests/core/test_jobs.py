import threading
from datetime import timedelta

import psycopg
import pytest
import yaml
from django.db import InternalError
from django.db.models.functions import Now
from django.utils import timezone
from redis import ConnectionError

from annotation import worker
from annotation.celery import app
from annotation.core import jobs, tasks
from annotation.core.jobs import TakenOver
from annotation.core.models import Heartbeat
from annotation.datasets.models import Release
from annotation.product import FILES
from tests.at_once import race

ROWS = Release.objects.all


def release(cast, slug="tea", version=1) -> Release:
    return Release.objects.create(
        study=cast.study(slug), version=version, layout="long", salt="s", as_of=Now(), frozen={}
    )


@pytest.fixture
def job(cast):
    return release(cast)


def taken(job) -> Release:
    assert jobs.take(ROWS(), job.pk)
    return Release.objects.get(pk=job.pk)


def lapse(job):
    ROWS().filter(pk=job.pk).update(lease_expires_at=Now() - timedelta(seconds=1))


def test_a_row_is_taken_once_and_again_only_after_its_lease(job):
    attempt = taken(job)
    assert (attempt.status, attempt.attempts, attempt.tries) == ("running", 1, 1)
    assert not jobs.take(ROWS(), job.pk)
    lapse(job)
    assert taken(job).attempts == 2


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_machine_whose_clock_jumps_ends_nobodys_lease(job, monkeypatch, hours):
    now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: now() + timedelta(hours=hours))
    attempt = taken(job)
    assert not jobs.take(ROWS(), job.pk)
    with jobs.renewed(attempt) as lease:
        lease.confirm()
    assert jobs.end(attempt, "done")


def test_a_row_waits_for_its_next_try(job):
    ROWS().update(next_try_at=Now() + timedelta(seconds=60))
    assert not jobs.take(ROWS(), job.pk)
    ROWS().update(next_try_at=Now())
    assert jobs.take(ROWS(), job.pk)


def test_only_the_attempt_that_holds_the_row_ends_it(job):
    late = taken(job)
    lapse(job)
    holder = taken(job)
    assert not jobs.end(late, "done")
    assert jobs.end(holder, "failed", error_code="disk")
    job.refresh_from_db()
    assert (job.status, job.error_code, job.lease_expires_at) == ("failed", "disk", None)


def test_three_lost_workers_exhaust_a_row_until_somebody_asks_again(job):
    for _attempt in range(jobs.TRIES):
        assert list(jobs.exhausted(ROWS())) == []
        taken(job)
        lapse(job)
    assert list(jobs.exhausted(ROWS())) == [job]
    assert not jobs.take(ROWS(), job.pk)
    assert jobs.retry_jobs(ROWS()) == 1
    attempt = taken(job)
    assert (attempt.attempts, attempt.tries) == (4, 1)


def test_a_renewal_writes_progress_and_notices_another_holder(job):
    attempt = taken(job)
    with jobs.renewed(attempt, error="half") as lease:
        lease.confirm()
        job.refresh_from_db()
        assert job.error == "half"
        ROWS().update(attempts=2)
        with pytest.raises(TakenOver):
            lease.confirm()
        with pytest.raises(TakenOver):
            lease.check()


@pytest.mark.django_db(transaction=True)
def test_a_renewal_whose_commit_the_databases_end_cut_short_is_followed_by_the_next(
    cast, monkeypatch
):
    renew, again, broken = jobs.Lease.renew, threading.Event(), []

    def cut_short(lease):
        if not broken:
            broken.append(lease)
            raise InternalError("broken") from psycopg.InternalError("received 2 results")
        renew(lease)
        again.set()

    attempt = taken(release(cast))
    monkeypatch.setattr(jobs.Lease, "renew", cut_short)
    with jobs.renewed(attempt, every=0.01):
        assert again.wait(5)


class Broker:
    def delay(self, pk):
        raise ConnectionError("away")


def test_without_a_broker_the_row_waits(job, caplog):
    assert not jobs.enqueue(Broker(), job.pk)
    assert "no broker" in caplog.text
    assert list(jobs.startable(ROWS())) == [job]


def test_of_one_owner_so_many_jobs_run_at_once_and_of_another_others(cast, settings):
    first, second, third = (release(cast, version=version) for version in (1, 2, 3))
    other = release(cast, "rain")
    holder = taken(first)
    assert list(jobs.startable(ROWS())) == [other]
    assert not jobs.take(ROWS(), second.pk)
    taken(other)
    settings.JOBS_AT_ONCE = 2
    taken(second)
    assert not jobs.take(ROWS(), third.pk)
    jobs.end(holder, "done")
    taken(third)


def test_each_task_has_a_queue_and_workers_take_all_queues(settings):
    routes, queues = settings.CELERY_TASK_ROUTES, set(settings.CELERY_TASK_QUEUES)
    app.loader.import_default_modules()
    assert set(routes) <= set(app.tasks)
    laptop = [worker.SHORT, worker.LONG]
    assert set().union(*laptop) == queues
    compose = yaml.safe_load((FILES / "docker-compose.yml").read_text("utf-8"))["services"]
    commands = [compose[name]["command"] for name in ("notices", "worker")]
    named = [command[command.index("-Q") + 1].split(",") for command in commands]
    assert named == laptop
    periodic = {entry["task"] for entry in settings.CELERY_BEAT_SCHEDULE.values()}
    assert periodic <= set(app.tasks)


def test_a_task_comes_back_where_its_worker_is_lost_and_is_not_given_twice_while_it_runs():
    """As Celery has it: a setting whose name is misspelt is none of its."""
    wanted = {
        "task_acks_late": True,
        "task_reject_on_worker_lost": True,
        "worker_prefetch_multiplier": 1,
        "task_ignore_result": True,
        "result_backend": None,
        "task_serializer": "json",
        "accept_content": ["json"],
    }
    assert {name: app.conf[name] for name in wanted} == wanted
    app.loader.import_default_modules()
    limits = {app.conf.task_time_limit, *(task.time_limit or 0 for task in app.tasks.values())}
    assert app.conf.broker_transport_options["visibility_timeout"] > 3 * max(limits)


def test_a_job_whose_notification_or_worker_was_lost_is_at_work_again_within_a_minute(settings):
    names = ("candidates", "histories", "imports", "releases", "evaluations")
    turns = [*(f"notify-of-{name}" for name in names), "import-releases"]
    seconds = [settings.CELERY_BEAT_SCHEDULE[name]["schedule"] for name in turns]
    assert jobs.LEASE.total_seconds() + max(seconds) <= 60
    assert jobs.LEASE.total_seconds() > 2 * jobs.RENEW_SECONDS


@pytest.mark.django_db(transaction=True)
def test_of_workers_at_once_one_takes_the_row(cast):
    job = release(cast)
    got = race(lambda _worker: jobs.take(ROWS(), job.pk), range(4))
    assert sorted(got) == [False, False, False, True]


@pytest.mark.django_db
def test_a_worker_is_alive_for_a_minute_after_its_last_sign():
    assert not jobs.worker_alive()
    tasks.beat()
    assert jobs.worker_alive()
    for seconds, alive in ((59, True), (61, False)):
        Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=seconds))
        assert jobs.worker_alive() is alive


@pytest.mark.django_db
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
