"""What an operator sees and does: parts, jobs, accounts, the trail, metrics."""

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from annotation.accounts.models import ApiToken, User
from annotation.candidates.models import DocumentFile
from annotation.core import audit, tasks
from annotation.core.models import AuditEvent, Heartbeat
from annotation.operations import examine, people, queues

ACCOUNTS = "/operations/accounts/"


@pytest.fixture
def ada(cast, login):
    user = cast.person("Ada")
    user.is_superuser = True
    user.save()
    return login(user)


def check(name: str) -> examine.Check:
    return next(check for check in examine.examine() if check.name == name)


def overdue(study) -> DocumentFile:
    late = timezone.now() - timedelta(minutes=6)
    return DocumentFile.objects.create(
        study=study, name="x", size=1, status="running", attempts=1, lease_expires_at=late
    )


# --- doctor ----------------------------------------------------------------------------------


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


# --- Jobs ------------------------------------------------------------------------------------


def test_an_overdue_job_is_shown_tried_again_and_stopped(tea, ada):
    row = overdue(tea)
    assert (check("jobs").ok, queues.count_stuck()) == (False, 1)
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


def test_every_check_has_a_name_on_the_page(db, settings):
    settings.ENDPOINTS = [{"name": "m", "base_url": "http://127.0.0.1:1/v1"}]
    names = {check.name for check in examine.examine()}
    assert {name.partition(" ")[0] for name in names} == set(examine.LABELS)


def test_every_kind_of_job_and_each_of_its_states_has_a_name():
    assert set(queues.KINDS) == set(queues.kinds())
    tables = queues.kinds().values()
    states = {state for table in tables for state in table._meta.get_field("status").choices}
    assert {value for value, _label in states} <= set(queues.STATES)


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


# --- Accounts --------------------------------------------------------------------------------


def test_closing_an_account_ends_its_sessions_and_tokens(cast, tea, ada):
    bo, client = cast.person("Bo"), Client()
    client.force_login(bo)
    key = ApiToken.issue(bo)[1]
    question = ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "close"})
    assert "Close the account of Bo?" in question.content.decode()
    bo.refresh_from_db()
    assert bo.is_active is True, "nothing is closed before the answer"
    ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "close", "sure": "1"})
    bo.refresh_from_db()
    assert bo.is_active is False
    assert client.get("/tokens/").status_code == 302
    ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "open"})
    assert client.get("/tokens/").status_code == 302, "the old session stays dead"
    headers = {"Authorization": f"Bearer {key}"}
    assert client.get("/api/v1/", headers=headers).status_code == 401


def test_a_password_link_is_shown_once_and_works_once(cast, ada, client):
    bo = cast.person("Bo")
    page = ada.post(f"{ACCOUNTS}{bo.pk}/", {"act": "reset"})
    link = page.context["link"]
    assert link in page.content.decode()
    form = client.get(link.removeprefix("http://127.0.0.1:8000"), follow=True)
    assert form.status_code == 200
    assert link not in ada.get(ACCOUNTS).content.decode()


def test_nobody_closes_the_account_they_use(cast, ada):
    me = cast.person("Ada")
    answer = ada.post(f"{ACCOUNTS}{me.pk}/", {"act": "close", "sure": "1"}, follow=True)
    assert "You cannot close the account you are using." in answer.content.decode()
    me.refresh_from_db()
    assert me.is_active


def test_accounts_are_searched_with_as_many_queries_for_many_as_for_one(
    cast, ada, django_assert_max_num_queries
):
    for name in ("Bo", "Boris", "Bob"):
        cast.person(name)
    assert b"boris@example.org" in ada.get(ACCOUNTS, {"q": "boris"}).content
    assert b"boris@example.org" not in ada.get(ACCOUNTS, {"q": "ada"}).content
    with django_assert_max_num_queries(4):
        ada.get(ACCOUNTS)


# --- The trail -------------------------------------------------------------------------------


def test_accounts_that_votes_were_imported_for_come_last_and_the_newest_first(cast, tea, ada):
    imported = User.objects.create(worker="crowd:W1", is_active=False)
    doe = User.objects.create(email="doe@example.org")
    shown = list(people.search(""))
    assert (shown[0], shown[-1]) == (doe, imported)


def test_the_trail_is_narrowed_down_and_exported(tea, cast, ada):
    audit.record(cast.person("Bo"), "study.create", tea, title="=1+1")
    audit.record(None, "other.act", tea)
    address = "/operations/audit/"
    assert ada.get(address, {"action": "study.create"}).context["page"].paginator.count == 1
    csv = b"".join(ada.get(address, {"action": "study.create", "format": "csv"})).decode()
    assert csv.splitlines()[0] == "id,at,actor,action,target,target_id,details"
    assert len(csv.splitlines()) == 2
    lines = b"".join(ada.get(address, {"format": "jsonl"})).decode().splitlines()
    assert [json.loads(line)["action"] for line in lines] == ["other.act", "study.create"]
    assert ada.get(address, {"actor": "x"}).status_code == 400


# --- Metrics ---------------------------------------------------------------------------------


def test_metrics_are_for_whoever_holds_the_key(client, tea, settings):
    assert client.get("/metrics").status_code == 404
    settings.METRICS_KEY = "the key"
    assert client.get("/metrics").status_code == 404
    for wrong in ("", "Bearer ", "Bearer the ke", "Bearer the key2"):
        assert client.get("/metrics", headers={"Authorization": wrong}).status_code == 404
    tasks.beat()
    answer = client.get("/metrics", headers={"Authorization": "Bearer the key"})
    text = answer.content.decode()
    assert answer.status_code == 200
    assert 'attune_requests_total{method="GET",status="404",view="metrics"}' in text
    assert "attune_judgments 0.0" in text
    assert 'attune_heartbeat_age_seconds{part="worker"}' in text
    assert 'attune_disk_free_bytes{place="data"}' in text
