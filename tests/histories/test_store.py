"""Records into rows: everything once, the newest copy, all of a file or nothing."""

import itertools

import pytest
from django.db.models import Func, TextField

from annotation.histories import browse, ingest, marks, store
from annotation.histories.models import Mark, Message, Session, Upload
from annotation.histories.records import Refused, Skipped, Visit
from tests.histories.conftest import NOON, chat, search, send, stored


def texts(session):
    return list(session.messages.order_by("position").values_list("role", "text"))


def test_a_file_becomes_sessions_that_nobody_uses_yet(ann, bring):
    upload = bring(ann, chat("c-1", "Hello", "Hi"), search(), Visit("chrome", "A page", NOON))
    assert (upload.status, upload.source, upload.stored) == ("done", "made-up", "")
    assert upload.counts == {
        "sessions": 1,
        "messages": 2,
        "searches": 1,
        "visits": 1,
        "duplicates": 0,
        "first": "2026-03-14T12:00:00+00:00",
        "last": "2026-03-14T12:01:00+00:00",
    }
    one = Session.objects.get(kind="chat")
    assert texts(one) == [("user", "Hello"), ("assistant", "Hi")]
    assert (one.title, one.length, one.characters, one.started_at) == ("Trip", 2, 7, NOON)
    states = dict(Session.objects.values_list("kind", "state"))
    assert states == dict.fromkeys(("chat", "search", "visit"), "pending")
    assert list(browse.sessions(ann)) == []


def test_the_same_bytes_twice_are_already_here(ann, bring):
    first = bring(ann, chat(), search(), name=b"file")
    second = bring(ann, chat(), search(), name=b"file")
    assert (first.status, second.status) == ("done", "duplicate")
    assert second.counts == {**first.counts, "duplicates": 2}
    assert (Session.objects.count(), Message.objects.count()) == (2, 3)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("apart", [True, False])
def test_the_newest_copy_wins_in_whatever_order_copies_come(ann, bring, order, apart):
    copies = [
        chat("c-1", "a", "b"),
        chat("c-1", "a", "b", "c", "d", minutes=5),
        chat("c-1", "a", "x", minutes=2),
    ]
    arranged = [copies[n] for n in order]
    uploads = [bring(ann, one) for one in arranged] if apart else [bring(ann, *arranged)]
    session = Session.objects.get()
    assert [text for _role, text in texts(session)] == ["a", "b", "c", "d"]
    assert sum(upload.counts["sessions"] for upload in uploads) == (3 if apart else 1)
    counts = uploads[0].counts
    assert apart or (counts["duplicates"], counts["messages"]) == (2, 4)


def test_a_day_of_searches_is_one_session_and_each_search_is_there_once(ann, bring):
    late = 60 * 24
    first = bring(ann, search("tea"), search("tea"), search("tea", 1), search("rain", late))
    assert (first.counts["searches"], first.counts["duplicates"]) == (3, 1)
    second = bring(ann, search("tea", 1), search("sun", 2))
    assert (second.counts["searches"], second.counts["duplicates"]) == (2, 1)
    days = Session.objects.order_by("external_id")
    assert [(one.external_id, one.length) for one in days] == [("2026-03-14", 3), ("2026-03-15", 1)]
    assert [text for _role, text in texts(days[0])] == ["tea", "tea", "sun"]


@pytest.mark.parametrize(
    ("before", "more", "after"),
    [("kept", True, "pending"), ("kept", False, "kept"), ("dropped", True, "dropped")],
)
def test_a_kept_session_with_new_words_is_to_be_decided_on_again(ann, bring, before, more, after):
    bring(ann, chat("c-1", "a"), search("tea"))
    browse.choose(ann, Session.objects.all(), before)
    newer = [chat("c-1", "a", "b", minutes=1), search("sun", 1)]
    bring(ann, *(newer if more else [chat("c-1", "a"), search("tea")]), name=b"another file")
    assert set(Session.objects.values_list("state", flat=True)) == {after}


def test_decisions_on_marks_go_over_to_the_newer_copy(ann, bring):
    bring(ann, chat("c-1", "I am ann@example.org", "Hello", "bob@example.org"))
    mine, other = Mark.objects.order_by("pk")
    marks.decide_mark(ann, mine, "rejected")
    bring(ann, chat("c-1", "I am ann@example.org", "Hello", "bob@example.org", "So?", minutes=1))
    found = Mark.objects.order_by("message__position").values_list("message__position", "state")
    assert list(found) == [(0, "rejected"), (2, "suggested")]
    assert not Mark.objects.filter(pk__in=[mine.pk, other.pk]).exists()


def test_a_file_that_breaks_in_the_middle_stores_none_of_it(ann, contents, settings):
    def records():
        for n in range(200):
            yield chat(f"c-{n}", "x" * 20_000)
            yield search(f"tea {n}", n)
        raise Refused("truncated_json")

    contents[b"broken"] = records()
    upload = ingest.run(send(ann, b"broken").pk)
    assert upload.error_code == "truncated_json"
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)
    assert stored(settings) == []


def test_what_was_left_out_is_listed_and_never_endless(ann, bring):
    upload = bring(ann, chat(), *(Skipped(f"line {n}", "junk: x") for n in range(1_005)))
    assert len(upload.skipped) == 1_001
    assert upload.skipped[0] == {"where": "line 0", "reason": "junk: x"}
    assert upload.skipped[-1] == {"where": "…", "reason": "and 5 more"}


def test_a_session_can_be_kept_only_after_it_was_looked_through(ann, bring, monkeypatch):
    monkeypatch.setattr(ingest, "_mark", lambda upload, lease: None)
    upload = bring(ann, chat("c-1", "ann@example.org"))
    assert upload.status == "running"
    assert browse.choose(ann, Session.objects.all(), "kept") == 0
    monkeypatch.undo()
    Upload.objects.update(lease_expires_at="2020-01-01T00:00Z")
    assert ingest.uploads_due() == [upload.pk]
    assert ingest.run(upload.pk).status == "done"
    assert browse.choose(ann, Session.objects.all(), "kept") == 1


def test_an_import_limits_each_of_its_statements_and_tells_when_it_ran_out(ann, bring, monkeypatch):
    monkeypatch.setattr(store, "STATEMENT_SECONDS", 1)
    sleep = Func(60, function="pg_sleep", output_field=TextField())
    monkeypatch.setattr(store, "_grow", lambda *given: list(Session.objects.values_list(sleep)))
    upload = bring(ann, search())
    assert (upload.status, upload.error_code) == ("failed", "too_long")
    assert "10 minutes" in upload.error
    assert not Session.objects.exists()
