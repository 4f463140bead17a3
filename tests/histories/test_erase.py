"""Taken back: no row, no file and no search entry is left, and nothing comes back by itself."""

import json
import threading

import pytest
from django.db import connection

from annotation.histories import browse, consent, erase, ingest, marks, models, receive, search
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
from tests.histories.conftest import chat
from tests.histories.conftest import search as query_of

CANARY = "canary-of-ann"
OWN = (Alias, Mark, Message, NamesWord, Passage, Session, Upload)


def canaries() -> list[str]:
    """Every table of the database in which the canary stands."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            cursor.execute(
                f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s',  # noqa: S608
                [f"%{CANARY}%"],
            )
            if cursor.fetchone()[0]:
                found.append(table)
    return found


@pytest.fixture
def filled(tea, cast, bring):
    ann = cast.person("Ann")
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
    waiting = receive.begin(filled, 7)
    receive.append(filled, waiting.pk, 0, b"half")
    assert canaries() != []
    erasure = erase.forget(filled)
    assert erasure.done_at is not None
    assert canaries() == []
    assert list((settings.DATA / "histories").iterdir()) == []
    assert [model.objects.count() for model in (Message, Session)] == [theirs[0] - 2, theirs[1] - 2]
    assert not Session.objects.filter(owner=filled).exists()
    assert search.find(filled, CANARY) == {}
    assert not consent.allows(filled, tea, "show_to_judges")
    assert HistoryConsent.objects.get().withdrawn_at is not None


def test_an_erased_file_comes_back_only_when_its_owner_says_so(filled, bring, settings):
    erase.forget(filled)
    upload = bring(filled, chat("c-1", "hello"), name=b"one")
    assert (upload.status, Session.objects.count()) == ("erased_before", 0)
    receive.retry_upload(filled, upload.pk)
    assert ingest.run(upload.pk).status == "done"
    assert Session.objects.count() == 1
    assert list((settings.DATA / "histories").iterdir()) == []


def test_an_erased_session_does_not_come_back_with_another_file(ann, bring):
    bring(ann, chat("c-1"), chat("c-2"), query_of("tea"))
    assert erase.sessions(ann, Session.objects.exclude(external_id="c-2")) == 2
    upload = bring(
        ann, chat("c-1", "more", "words", "now", minutes=9), query_of("tea"), query_of("x", 1)
    )
    assert [one.external_id for one in Session.objects.all()] == ["c-2"]
    assert [one["reason"] for one in upload.skipped] == [
        "erased: you erased this conversation before",
        "erased: 2 searches of days that you erased before",
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
    refused = receive.begin(ann, 3)
    receive.append(ann, refused.pk, 0, b"one")
    assert ingest.run(refused.pk).status == "failed"
    erase.upload(ann, refused)
    assert bring(ann, chat("c-1"), name=b"one").status == "done"


@pytest.mark.django_db(transaction=True)
def test_a_file_that_is_being_read_is_stopped_and_erased(cast, contents, monkeypatch, settings):
    ann = cast.person("Ann")
    monkeypatch.setattr(ingest, "TELL_SECONDS", 0.01)
    monkeypatch.setattr(models, "PATIENCE_MS", 50)
    upload = receive.begin(ann, 4)
    receive.append(ann, upload.pk, 0, b"file")
    reading, waiting = threading.Event(), threading.Event()

    def records():
        yield chat("c-1", CANARY)
        reading.set()
        waiting.wait(20)
        for n in range(1_000_000):
            yield chat("c-2", f"{CANARY} {n}")

    contents[b"file"] = records()
    result = []

    def read():
        result.append(ingest.run(upload.pk))
        connection.close()

    reader = threading.Thread(target=read)
    reader.start()
    assert reading.wait(20)
    erasure = erase.forget(ann)
    assert erasure.done_at is None  # the reader holds the history; nothing waits for it
    waiting.set()
    reader.join()
    assert result == [None]
    erase.go_on()
    assert Erasure.objects.get().done_at is not None
    assert canaries() == []
    assert [model.objects.count() for model in OWN] == [0] * len(OWN)
    assert list((settings.DATA / "histories").iterdir()) == []
