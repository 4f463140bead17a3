import io
import json
import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.utils import timezone

from annotation.candidates import calls, generate
from annotation.candidates.management.commands import generate as command
from annotation.candidates.models import Candidate
from annotation.core import jobs
from annotation.core.models import Heartbeat
from tests.candidates.conftest import Reply

WRITE_ONE = """
import sys, django
django.setup()
from annotation.candidates import generate
generate.write_one(sys.argv[1])
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
        for candidate_id in calls.due():
            generate.write_one(candidate_id)

    monkeypatch.setattr(command.time, "sleep", work)
    status, out, err = run("tea", "--wait")
    assert (status, err) == (0, "")
    assert out.startswith("3 answers asked for: 3 written, 0 failed, 0 to come; 48 tokens")


def test_a_worker_that_falls_silent_is_noticed(asked, tea, fake, monkeypatch):
    Heartbeat.objects.create(name="worker", at=timezone.now())
    silent = timezone.now() - timedelta(seconds=61)
    monkeypatch.setattr(command.time, "sleep", lambda seconds: Heartbeat.objects.update(at=silent))
    status, _, err = run("tea", "--wait")
    assert (status, err) == (0, "No worker is running: the answers are written here.\n")


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
def test_a_killed_worker_leaves_a_row_that_comes_back(asked, tea, fake, settings):
    fake.replies = [lambda handler: fake.released.wait(), Reply("Walk.")]
    (candidate,) = generate.request(tea, strategies=["A3"])
    database = connection.settings_dict
    url = (
        f"postgresql://{database['USER']}:{database['PASSWORD']}@/{database['NAME']}"
        f"?host={database['HOST']}&port={database['PORT'] or 5432}"
    )
    environment = os.environ | {
        "DATABASE_URL": url,
        "ATTUNE_ENDPOINTS": json.dumps(settings.ENDPOINTS),
        "DJANGO_SETTINGS_MODULE": "annotation.settings",
    }
    worker = subprocess.Popen([sys.executable, "-c", WRITE_ONE, str(candidate.pk)], env=environment)
    assert fake.received.wait(120)
    worker.kill()
    worker.wait()
    candidate.refresh_from_db()
    assert (candidate.status, candidate.attempts, candidate.text) == ("running", 1, "")
    assert candidate.lease_expires_at - timezone.now() <= jobs.LEASE
    # Half a minute later.
    Candidate.objects.update(lease_expires_at=Now() - timedelta(seconds=1))
    calls.reap()
    assert calls.due() == [candidate.pk]
    generate.write_one(candidate.pk)
    candidate.refresh_from_db()
    assert (candidate.status, candidate.attempts, candidate.text) == ("done", 2, "Walk.")
    assert len(fake.requests) == 2


def test_a_dry_run_says_what_it_would_take_and_asks_for_nothing(asked, tea, fake, capsys):
    call_command("generate", "tea", strategies="A1,A3", dry_run=True, json=True)
    planned = json.loads(capsys.readouterr().out)
    assert (planned["calls"], planned["measured"]) == (3, 0)  # A1 asks twice
    assert not Candidate.objects.exists()
    call_command("generate", "tea", strategies="A3", limit=1)
    assert Candidate.objects.get().strategy == "A3"
    with pytest.raises(CommandError, match="Choose among the strategies"):
        call_command("generate", "tea", strategies="A9")
    with pytest.raises(CommandError, match="from 1 on"):
        call_command("generate", "tea", limit=0)
    with pytest.raises(CommandError, match="Only answers that are written"):
        call_command("generate", "tea", rewrite="improve")
