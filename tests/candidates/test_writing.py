"""`generate`, and calls at once: as many as the endpoint takes, each row held by one attempt."""

import io
import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from annotation.candidates import calls, generate, writing
from annotation.candidates.models import Candidate
from annotation.core import jobs
from annotation.core.models import Heartbeat
from tests.candidates.conftest import Reply
from tests.scripted_endpoint import ScriptedEndpoint


def study_of(cast, queries, slug="tea"):
    study = cast.study(slug)
    for n in range(queries):
        cast.query(study, f"q{n}", text=f"Where shall I walk on day {n}?")
    return study


@pytest.mark.django_db(transaction=True)
def test_a_pool_makes_as_many_calls_at_once_as_the_endpoint_takes(cast, settings):
    study = study_of(cast, 9)
    with ScriptedEndpoint(latency=0.3) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=3)]
        generate.request_answers(study, strategies=["A3"])
        writing.work()
        assert (endpoint.calls, endpoint.most_at_once) == (9, 3)
    assert Candidate.objects.filter(status="done").count() == 9


@pytest.mark.django_db(transaction=True)
def test_a_worker_gives_signs_while_models_write(cast, settings, monkeypatch):
    study, signs = study_of(cast, 2), []
    monkeypatch.setattr(jobs, "RENEW_SECONDS", 0.1)
    monkeypatch.setattr(jobs, "pulse", lambda: lambda: signs.append(1))
    with ScriptedEndpoint(latency=1) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=2)]
        generate.request_answers(study, strategies=["A3"])
        writing.work()
    assert Candidate.objects.filter(status="done", attempts=1).count() == 2
    assert len(signs) > 5


@pytest.mark.django_db(transaction=True)
def test_a_row_that_breaks_the_writer_keeps_its_lease_and_the_others_are_written(
    cast, settings, monkeypatch
):
    study, broken = study_of(cast, 3), writing.WRITE[Candidate]

    def write(row, server):
        if row.query.external_id == "q1":
            raise ZeroDivisionError
        broken(row, server)

    monkeypatch.setitem(writing.WRITE, Candidate, write)
    with ScriptedEndpoint() as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=3)]
        generate.request_answers(study, strategies=["A3"])
        writing.work()
    rows = Candidate.objects.order_by("query__external_id")
    assert list(rows.values_list("status", flat=True)) == ["done", "running", "done"]


def test_studies_take_turns_however_much_each_asks_for(cast, settings):
    studies = study_of(cast, 9, "tea"), study_of(cast, 2, "rain")
    with ScriptedEndpoint() as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=5)]
        for study in studies:
            generate.request_answers(study, strategies=["A3"])
        slugs = [Candidate.objects.get(pk=pk).study.slug for pk in calls.calls_due()]
    assert len(slugs) == 5
    assert set(slugs[:2]) == set(slugs[2:4]) == {"tea", "rain"}
    assert slugs[4] == "tea"


@pytest.mark.django_db(transaction=True)
def test_workers_have_so_many_pools_at_once(settings):
    def other() -> bool:
        """Whether a second worker would get a place."""
        try:
            with writing.place() as free:
                return free
        finally:
            connection.close()

    with writing.place() as free, ThreadPoolExecutor(1) as executor:
        assert free
        assert executor.submit(other).result() is False
        settings.GENERATION_POOLS = 2
        assert executor.submit(other).result() is True
    with writing.place() as again:
        assert again


WORK = """
import django
django.setup()
from annotation.candidates import writing
writing.work()
"""


def run(*arguments):
    out, err = io.StringIO(), io.StringIO()
    try:
        call_command("generate", *arguments, stdout=out, stderr=err)
    except CommandError as error:
        return error.returncode, out.getvalue(), err.getvalue() + str(error)
    return 0, out.getvalue(), err.getvalue()


def test_without_wait_the_answers_are_only_asked_for(asked, tea):
    status, out, _ = run("tea", "--json")
    asked_for = {"requested": 3, "done": 0, "failed": 0, "tokens": 0, "cost": 0.0}
    assert (status, json.loads(out)) == (0, asked_for)
    assert json.loads(run("tea", "--json")[1]) == asked_for


def test_with_wait_and_no_worker_the_answers_are_written_here(asked, tea, fake):
    status, out, err = run("tea", "--endpoint", "fake", "--wait", "--json")
    assert json.loads(out) == {"requested": 3, "done": 3, "failed": 0, "tokens": 48, "cost": 0.0}
    assert (status, err) == (0, "No worker is running: the answers are written here.\n")


def test_with_wait_and_a_worker_the_answers_are_left_to_it(asked, tea, fake, monkeypatch):
    Heartbeat.objects.create(name="worker", at=timezone.now())

    def work(seconds):
        for candidate_id in calls.calls_due():
            writing.write_one(candidate_id)

    monkeypatch.setattr(writing.time, "sleep", work)
    status, out, err = run("tea", "--wait")
    assert (status, err) == (0, "")
    assert out.startswith("3 answers asked for: 3 written, 0 failed, 0 to come; 48 tokens")
    _total, planned, actual = out.splitlines()
    assert planned == "planned: 4 calls, 5,000 tokens, cost 0.0000, 16 s"
    assert actual.startswith("actual: 4 calls, 48 tokens, cost 0.0000, ")


def test_failures_end_in_exit_1_and_their_sentences(asked, tea, fake):
    fake.replies = [Reply(status=402, body=b"{}")]
    status, out, err = run("tea", "--wait", "--json")
    assert (status, json.loads(out)["failed"]) == (1, 3)
    assert "3 × The account at “fake” has no credit or quota left." in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["coffee"], "There is no study “coffee”."),
        (["tea", "--endpoint", "gone"], "There is no endpoint “gone”; configured are: fake."),
        (["tea"], "This study has no queries to answer yet."),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(tea, fake, arguments, sentence):
    assert run(*arguments) == (1, "", sentence)


def test_owners_queries_with_too_few_answers_are_warned_of(asked, tea, cast, fake, client):
    asked.owner = cast.person("Ann")
    asked.save()
    warning = "Queries of owners with fewer than 6 answers: 1."
    for arguments in (("tea", "--strategies", "A3", "--dry-run"), ("tea", "--strategies", "A3")):
        assert warning in run(*arguments)[2]
    client.force_login(cast.person("Carol"))
    answer = client.get("/api/v1/studies/tea/generation/").json()
    assert answer["queries_with_few_answers"] == 1
    cast.candidates(asked, 5)
    assert warning not in run("tea")[2]


@pytest.mark.django_db(transaction=True)
def test_a_killed_pool_loses_no_row_and_repeats_one_call_a_place(cast, settings):
    study, killed = study_of(cast, 8), threading.Event()

    def answer(request, number):
        return "Walk." if number < 3 or killed.wait(120) else ""

    with ScriptedEndpoint(answer) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=4)]
        generate.request_answers(study, strategies=["A3"])
        worker = subprocess.Popen([sys.executable, "-c", WORK], env=_environment(settings))
        # A place is free again once its answer is stored: the seventh call follows three answers.
        while endpoint.calls < 7:
            assert worker.poll() is None
            time.sleep(0.01)
        worker.kill()
        worker.wait()
        killed.set()
        rows = Candidate.objects.filter(study=study)
        assert _counts(rows) == {("done", 1): 3, ("requested", 0): 1, ("running", 1): 4}
        running = rows.filter(status="running")
        assert all(row.lease_expires_at - timezone.now() <= jobs.LEASE for row in running)
        # Half a minute later.
        running.update(lease_expires_at=Now() - timedelta(seconds=1))
        calls.reap()
        writing.work()
        assert _counts(rows) == {("done", 1): 4, ("done", 2): 4}
        assert endpoint.calls == 8 + 4
    assert set(rows.values_list("text", flat=True)) == {"Walk."}


def _environment(settings) -> dict:
    """Of a process that works in the test's database, with its endpoints."""
    database = connection.settings_dict
    url = (
        f"postgresql://{database['USER']}:{database['PASSWORD']}@/{database['NAME']}"
        f"?host={database['HOST']}&port={database['PORT'] or 5432}"
    )
    return os.environ | {
        "DATABASE_URL": url,
        "ATTUNE_ENDPOINTS": json.dumps(settings.ENDPOINTS),
        "DJANGO_SETTINGS_MODULE": "annotation.settings",
    }


def _counts(rows) -> dict:
    """How many rows there are of each status and number of attempts."""
    return Counter(rows.order_by().values_list("status", "attempts"))


def test_a_dry_run_says_what_it_would_take_and_asks_for_nothing(asked, tea, fake, capsys):
    call_command("generate", "tea", strategies="A1,A3", dry_run=True, json=True)
    planned = json.loads(capsys.readouterr().out)
    assert (planned["calls"], planned["measured"]) == (3, 0)  # A1 asks twice
    assert not Candidate.objects.exists()
    call_command("generate", "tea", strategies="A3", limit=1)
    assert Candidate.objects.get().strategy == "A3"
    for wrong, words in [
        ({"strategies": "A9"}, "Choose among the strategies"),
        ({"limit": 0}, "from 1 on"),
        ({"rewrite": "improve"}, "Only answers that are written"),
    ]:
        with pytest.raises(CommandError, match=words):
            call_command("generate", "tea", **wrong)
    assert Candidate.objects.count() == 1
