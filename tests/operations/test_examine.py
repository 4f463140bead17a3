"""What `doctor` finds: each part that is away or late is a failed check."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.core import tasks
from annotation.core.models import Heartbeat
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
