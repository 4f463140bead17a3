"""What is looked at: every part, and jobs of every kind."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.candidates.models import DocumentFile
from annotation.core import tasks
from annotation.core.models import AuditEvent, Heartbeat
from annotation.operations import examine


def check(name: str) -> examine.Check:
    return next(check for check in examine.examine() if check.name == name)


def test_doctor_prints_the_contracts_document(db, capsys):
    tasks.beat()
    call_command("doctor", "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is True
    assert all(set(check) == {"name", "ok", "detail"} for check in document["checks"])
    names = {check["name"] for check in document["checks"]}
    assert {"database", "extension", "migrations", "broker", "worker", "beat", "clock"} <= names
    assert {"backup", "mail", "versions", "jobs", "disk data"} <= names


def test_doctor_fails_where_a_part_fails(db, capsys):
    with pytest.raises(SystemExit) as end:
        call_command("doctor")
    assert end.value.code == 1
    assert "FAIL worker: never seen" in capsys.readouterr().out


def test_worker_and_beat_are_told_apart(db):
    tasks.beat()
    assert (check("worker").ok, check("beat").ok) == (True, True)
    Heartbeat.objects.filter(name="beat").update(at=timezone.now() - timedelta(seconds=61))
    assert (check("worker").ok, check("beat").ok) == (True, False)


def test_a_broker_or_model_server_that_is_away_is_a_failed_check(db, settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    settings.ENDPOINTS = [{"name": "m", "base_url": "http://127.0.0.1:1/v1", "api_key": "SECRET"}]
    assert check("broker").detail == "no answer (ConnectionError)"
    assert check("endpoint m").ok is False
    assert "SECRET" not in str(examine.examine())


def test_a_backup_that_is_too_old_is_a_failed_check(db, settings):
    settings.BACKUP_HOURS = 24
    assert check("backup").ok is False
    Heartbeat.objects.create(name="backup", at=timezone.now() - timedelta(hours=47))
    assert check("backup").ok is True
    Heartbeat.objects.update(at=timezone.now() - timedelta(hours=49))
    assert check("backup").ok is False


def test_every_check_has_a_name_on_the_page(db, settings):
    settings.ENDPOINTS = [{"name": "m", "base_url": "http://127.0.0.1:1/v1"}]
    names = {check.name for check in examine.examine()}
    assert {name.partition(" ")[0] for name in names} == set(examine.LABELS)


def overdue(study) -> DocumentFile:
    late = timezone.now() - timedelta(minutes=6)
    return DocumentFile.objects.create(
        study=study, name="x", size=1, status="running", attempts=1, lease_expires_at=late
    )


def test_an_overdue_job_is_shown_tried_again_and_stopped(tea, ada):
    row = overdue(tea)
    assert (check("jobs").ok, examine.count_stuck()) == (False, 1)
    page = ada.get("/operations/").content.decode()
    assert f"Tea · {row.pk}" in page
    address = f"/operations/jobs/candidates.documentfile/{row.pk}/"
    ada.post(address, {"act": "park"})
    row.refresh_from_db()
    assert (row.status, row.error) == ("failed", "The operator has stopped this job.")
    ada.post(address, {"act": "retry"})
    row.refresh_from_db()
    assert (row.status, row.tries) == ("requested", 0)
    actions = AuditEvent.objects.filter(target="documentfile").values_list("action", flat=True)
    assert sorted(actions) == ["job.park", "job.retry"]


def test_the_page_names_parts_kinds_and_states_in_the_readers_language(tea, ada):
    overdue(tea)
    page = ada.get("/operations/", headers={"Accept-Language": "zh-hans"}).content.decode()
    shown = ["文档文件", "进行中", "数据库", "从未出现", "任务", "1 个超时"]
    assert [words for words in shown if words not in page] == []
    assert "running" not in page and "never seen" not in page


def test_every_kind_of_job_and_each_of_its_states_has_a_name():
    assert set(examine.KINDS) == set(examine.kinds())
    tables = examine.kinds().values()
    states = {state for table in tables for state in table._meta.get_field("status").choices}
    assert {value for value, _label in states} <= set(examine.STATES)


@pytest.mark.parametrize(
    "which", ["candidates.documentfile/999", "candidates.documentfile/x", "no.kind/1"]
)
def test_an_unknown_job_changes_nothing(tea, ada, which):
    assert ada.post(f"/operations/jobs/{which}/", {"act": "retry"}).status_code == 404


def test_a_job_that_somebody_works_at_is_left_alone(tea, ada):
    row = overdue(tea)
    DocumentFile.objects.update(lease_expires_at=timezone.now() + timedelta(seconds=30))
    ada.post(f"/operations/jobs/candidates.documentfile/{row.pk}/", {"act": "park"})
    row.refresh_from_db()
    assert row.status == "running"
