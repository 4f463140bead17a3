"""Taken back: no row, no file and no search entry is left, and nothing comes back by itself."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from annotation.core.models import Heartbeat
from annotation.histories import browse, consent, erase, ingest, marks, models, search
from annotation.histories.models import (
    Alias,
    Erasure,
    HistoryConsent,
    Mark,
    Message,
    NamesWord,
    Passage,
    Session,
    Tombstone,
    Upload,
)
from annotation.histories.records import Refused
from tests.at_once import race
from tests.histories.conftest import chat, send, stored
from tests.histories.conftest import search as query_of
from tests.local.conftest import services  # noqa: F401 - a fixture

CANARY = "canary-of-ann"
OWN = (Alias, Mark, Message, NamesWord, Passage, Session, Upload)
QUETZAL = "quetzalcanary"
ERASED = """
import django
django.setup()
from django.db import connection
from annotation.accounts.models import User
from annotation.histories import erase, marks
from annotation.histories.records import Conversation, Message, Search
from tests.histories.made import bring
ann = User.objects.create_user("ann@example.org")
turns = (Message("user", "I ask about {canary}"), Message("assistant", "Of {canary}, much."))
chats = [Conversation("chatgpt", str(n), "{canary}", turns) for n in range(50)]
bring(ann, [*chats, Search("chrome", "{canary} today")])
marks.add_words(ann, ["{canary}"])
assert erase.forget(ann).done_at
with connection.cursor() as cursor:
    cursor.execute("CHECKPOINT")
print("erased", flush=True)
input()
assert erase.is_due() and erase.rewrite()
"""


def canaries() -> list[str]:
    """Every table of the database in which the canary stands."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            rows = f"SELECT FROM \"{table}\" t WHERE t::text ILIKE '%{CANARY}%'"
            if cursor.execute(rows).fetchone() is not None:
                found.append(table)
    return found


@pytest.fixture
def filled(tea, bring, ann):
    bring(
        ann, chat("c-1", f"{CANARY} ann@example.org", title=CANARY), query_of(CANARY), name=b"one"
    )
    browse.choose(ann, Session.objects.all(), "kept")
    marks.add_words(ann, [CANARY])
    consent.grant(ann, tea, "show_to_judges")
    return ann


def test_forgetting_leaves_nothing_of_a_person(filled, tea, bo, bring, settings):
    bring(bo, chat("c-1", "bo@example.org"))
    theirs = [model.objects.count() for model in (Message, Session)]
    ingest.append(filled, ingest.begin(filled, 7).pk, 0, b"half")
    assert canaries() != []
    erasure = erase.forget(filled)
    assert erasure.done_at is not None
    assert canaries() == []
    assert stored(settings) == []
    assert [model.objects.count() for model in (Message, Session)] == [theirs[0] - 2, theirs[1] - 2]
    assert not Session.objects.filter(owner=filled).exists()
    assert search.find(filled, CANARY) == {}
    assert not consent.allows(filled, tea, "show_to_judges")
    assert HistoryConsent.objects.get().withdrawn_at is not None


def test_an_erased_file_comes_back_only_when_its_owner_says_so(filled, bring, settings):
    erase.forget(filled)
    upload = bring(filled, chat("c-1", "hello"), name=b"one")
    assert (upload.status, Session.objects.count()) == ("erased_before", 0)
    ingest.retry_upload(filled, upload.pk)
    assert ingest.run(upload.pk).status == "done"
    assert Session.objects.count() == 1
    assert stored(settings) == []


def test_an_erased_session_does_not_come_back_with_another_file(ann, bring):
    bring(ann, chat("c-1"), chat("c-2"), query_of("tea"))
    assert erase.sessions(ann, Session.objects.exclude(external_id="c-2")) == 2
    upload = bring(
        ann, chat("c-1", "more", "words", "now", minutes=9), query_of("tea"), query_of("x", 1)
    )
    assert [one.external_id for one in Session.objects.all()] == ["c-2"]
    assert [one["reason"] for one in upload.skipped] == [
        "erased: you erased this conversation before",
        "erased again, for you erased their days before: searches: 2",
    ]


def test_somebody_elses_session_is_not_erased(ann, bo, bring):
    bring(bo, chat())
    assert erase.sessions(ann, [Session.objects.get().pk]) == 0
    assert Session.objects.count() == 1


def test_one_file_is_erased_with_its_sessions(ann, bring):
    first = bring(ann, chat("c-1"), name=b"one")
    bring(ann, chat("c-2"), name=b"two")
    erase.upload(ann, first)
    assert [one.external_id for one in Session.objects.all()] == ["c-2"]
    assert Tombstone.objects.get(what="upload").digest == first.sha256


def test_a_restored_backup_is_erased_again(ann, bring, settings):
    """The rows of before stand for the backup: they are older than the list's entry."""
    upload = bring(ann, chat("c-1"), name=b"one")
    marks.add_words(ann, [CANARY])
    line = {"user": ann.pk, "at": "2100-01-01T00:00:00+00:00", "what": "all", "digests": []}
    (settings.DATA / "erased.jsonl").write_text(json.dumps(line) + "\n")
    assert erase.replay() == 1
    assert not Session.objects.exists()
    assert Tombstone.objects.get().digest == upload.sha256
    assert canaries() == []


def test_the_list_of_erasures_names_nothing_and_is_private(filled, settings):
    erase.sessions(filled, Session.objects.filter(kind="search"))
    erase.forget(filled)
    path = settings.DATA / "erased.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["what"] for line in lines] == ["session", "all"]
    assert CANARY not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_came_after_the_erasure_survives_a_replay(filled, tea, bring):
    erase.forget(filled)
    bring(filled, chat("c-2"), name=b"two")
    consent.grant(filled, tea, "publish")
    marks.add_words(filled, ["Bo"])
    erase.replay()
    assert [one.external_id for one in Session.objects.all()] == ["c-2"]
    assert consent.allows(filled, tea, "publish")
    assert not consent.allows(filled, tea, "show_to_judges")
    assert [one.word for one in NamesWord.objects.all()] == ["Bo"]


def test_a_refused_file_may_come_again_unasked_after_its_line_is_gone(ann, contents, bring):
    contents[b"one"] = Refused("invalid_json")
    refused = ingest.run(send(ann, b"one").pk)
    assert refused.status == "failed"
    erase.upload(ann, refused)
    assert bring(ann, chat("c-1"), name=b"one").status == "done"


@pytest.mark.django_db(transaction=True)
def test_a_file_that_is_being_read_is_stopped_and_erased(contents, monkeypatch, settings, ann):
    monkeypatch.setattr(ingest, "TELL_SECONDS", 0.01)
    monkeypatch.setattr(models, "PATIENCE_MS", 50)
    upload = send(ann, b"file")
    reading, waiting = threading.Event(), threading.Event()

    def records():
        yield chat("c-1", CANARY)
        reading.set()
        waiting.wait(20)
        for n in range(1_000_000):
            yield chat("c-2", f"{CANARY} {n}")

    contents[b"file"] = records()
    with ThreadPoolExecutor(1) as pool:
        reader = pool.submit(race, ingest.run, [upload.pk])
        assert reading.wait(20)
        erasure = erase.forget(ann)
        assert erasure.done_at is None  # the reader holds the history; nothing waits for it
        waiting.set()
    assert reader.result() == [None]
    erase.go_on()
    assert Erasure.objects.get().done_at is not None
    assert canaries() == []
    assert [model.objects.count() for model in OWN] == [0] * len(OWN)
    assert stored(settings) == []


def test_it_is_due_once_a_day_after_an_erasure_of_any_kind(ann, bo, bring):
    bring(ann, chat("c-1"), chat("c-2"), name=b"one")
    assert not erase.is_due()
    erase.sessions(ann, Session.objects.filter(external_id="c-1"))
    assert erase.is_due()
    hour = timedelta(hours=1)
    Heartbeat.objects.create(name=erase.REWRITTEN, at=timezone.now() - 19 * hour)
    assert not erase.is_due()
    Heartbeat.objects.update(at=timezone.now() - 21 * hour)
    assert erase.is_due()
    Tombstone.objects.update(erased_at=timezone.now() - 22 * hour)
    assert not erase.is_due()
    erase.forget(bo)
    assert erase.is_due()


@pytest.mark.proof
@pytest.mark.services
def test_no_raw_file_of_the_database_holds_an_erased_word(services):  # noqa: F811
    cluster = services.cluster
    environment = os.environ | {"DATABASE_URL": cluster.url(), "ATTUNE_DATA": str(services.data)}
    manage = [sys.executable, "-W", "ignore", "manage.py"]
    subprocess.run([*manage, "migrate", "--verbosity=0"], env=environment, check=True)
    script = [sys.executable, "-c", ERASED.format(canary=QUETZAL)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(script, env=environment, **pipes) as child:
        assert child.stdout.readline() == "erased\n"
        before = files_with(cluster.data)
        child.communicate("\n")
    assert child.returncode == 0
    assert {"base", "pg_wal"} <= {path.parts[0] for path in before}
    assert files_with(cluster.data) == []


def files_with(folder: Path) -> list[Path]:
    """The files below ``folder`` in which the canary stands, in any case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [
        path.relative_to(folder) for path in files if QUETZAL.encode() in path.read_bytes().lower()
    ]
