"""Uploads of history files: from the bytes, whole or in pieces, to rows that are marked."""

import errno
import json
import os

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import translation

from annotation.core import jobs, uploads
from annotation.core.errors import DomainError, NotFound
from annotation.histories import browse, ingest, marks, redact
from annotation.histories.formats.build import place as place_of
from annotation.histories.models import Mark, Message, Session, Upload, changing
from annotation.histories.records import OMISSIONS, REFUSALS, Refused
from tests.at_once import race
from tests.histories import redaction
from tests.histories.conftest import chat, send, stored
from tests.histories.formats.samples import as_json, node, tree
from tests.processes import die, killed

ADDRESS = "Mail ann@example.org, and my key is sk-abcdefghijklmnopqrstuvwx1234."
PIECE = "application/octet-stream"


@pytest.fixture
def old(ann, bring, monkeypatch):
    """Ann's kept session, looked through when the rules knew e-mail addresses alone."""
    suggest = redact.suggest
    with monkeypatch.context() as earlier:
        earlier.setattr(redact, "RULES", redact.RULES - 1)

        def emails(text, names=()):
            return [span for span in suggest(text, names) if span.kind == "email"]

        earlier.setattr(redact, "suggest", emails)
        bring(ann, chat("c-1", ADDRESS, "Thank you."))
    Session.objects.update(state="kept")
    return Session.objects.get()


def hidden() -> list[tuple]:
    return list(Mark.objects.order_by("start").values_list("rule", "state", "is_late"))


def test_what_better_rules_find_is_hidden_at_once_and_the_session_stays_kept(ann, old):
    assert "sk-abc" in marks.shown_text(Message.objects.earliest("pk"))
    assert ingest.look_again(seconds=60) == 1
    old.refresh_from_db()
    assert (old.state, old.rules) == ("kept", redact.RULES)
    shown = marks.shown_text(Message.objects.earliest("pk"))
    assert shown == "Mail [EMAIL_1], and my key is [SECRET_1]."
    assert [row[1:] for row in hidden()] == [("suggested", False), ("suggested", True)]
    assert ingest.look_again(seconds=60) == 0


@pytest.mark.parametrize("state", ["rejected", "accepted"])
def test_what_the_owner_decided_stays(ann, old, state):
    marks.decide_mark(ann, Mark.objects.get(), state)
    ingest.look_again(seconds=60)
    assert hidden()[0] == ("email", state, False)
    assert Mark.objects.filter(alias__kind="email").count() == 1


def test_a_wider_find_hides_what_lies_beside_a_passage_that_is_shown(ann, old, monkeypatch):
    marks.decide_mark(ann, Mark.objects.get(), "rejected")
    wide = redact.Span(0, len(ADDRESS), "address", "wider")
    monkeypatch.setattr(redact, "suggest", lambda text, names: [wide] if text == ADDRESS else [])
    ingest.look_again(seconds=60)
    text = Message.objects.earliest("pk")
    assert marks.shown_text(text) == "[ADDRESS_1]ann@example.org[ADDRESS_2]"


def test_the_owner_reads_of_it_looks_at_it_and_decides(ann, old, login):
    ingest.look_again(seconds=60)
    client, history = login(ann), reverse("history")
    session = reverse("history-session", args=[old.pk])
    assert "Better rules found 1 more" in " ".join(client.get(history).content.decode().split())
    listed = client.get(history, {"state": "late"}).content.decode()
    assert str(old.pk) in listed
    page = client.get(session).content.decode()
    assert "found later" in page
    assert "found later" not in client.get(session, {"as": "others"}).content.decode()
    answer = client.post(reverse("history-late"), {"session": old.pk}, follow=True)
    assert answer.redirect_chain[0][0].startswith(session)
    assert "1 passage is hidden." in answer.content.decode()
    assert hidden()[1][1:] == ("accepted", False)
    assert "Better rules" not in client.get(history).content.decode()
    assert str(old.pk) not in client.get(history, {"state": "late"}).content.decode()


def test_all_of_it_is_kept_hidden_at_once_and_nobody_elses(ann, old, login, cast):
    ingest.look_again(seconds=60)
    late = reverse("history-late")
    bo = login(cast.person("Bo"))
    assert bo.post(late).status_code == 302
    assert bo.post(late, {"session": old.pk}).status_code == 404
    assert hidden()[1][1:] == ("suggested", True)
    login(ann).post(late)
    assert hidden()[1][1:] == ("accepted", False)


def test_a_session_of_a_published_benchmark_is_left_as_it_was_published(ann, old):
    Session.objects.update(rules=None)
    assert ingest.look_again(seconds=60) == 0


def test_a_history_that_is_being_read_is_looked_through_another_time(ann, old, monkeypatch):
    def busy(owner, patiently=False):
        raise ingest.Conflict("Your history is being read just now.")

    monkeypatch.setattr(ingest, "changing", busy)
    assert ingest.look_again(seconds=60) == 0
    monkeypatch.setattr(ingest, "changing", changing)
    assert ingest.look_again(seconds=60) == 1


def test_new_figures_without_a_new_number_of_the_rules_are_refused(monkeypatch, tmp_path):
    stored = json.loads(redaction.FIGURES.read_text())
    file = tmp_path / "redaction.json"
    file.write_text(json.dumps(stored | {"spans": "others"}))
    monkeypatch.setattr(redaction, "FIGURES", file)
    with pytest.raises(SystemExit, match="raise RULES"):
        redaction.main()
    file.write_text(json.dumps(stored | {"spans": "others", "rules": stored["rules"] - 1}))
    redaction.main()
    assert json.loads(file.read_text()) == stored


def test_the_same_file_goes_on_where_it_stopped_and_a_piece_sent_twice_counts_once(ann):
    upload = ingest.begin(ann, 6, "mark")
    ingest.append(ann, upload.pk, 0, b"abc")
    again = ingest.begin(ann, 6, "mark")
    assert (again.pk, again.received) == (upload.pk, 3)
    assert ingest.begin(ann, 7, "other").pk != upload.pk
    with pytest.raises(uploads.WrongOffset) as caught:
        ingest.append(ann, upload.pk, 0, b"abc")
    assert caught.value.offset == Upload.objects.get(pk=upload.pk).received == 3


def test_somebody_else_cannot_add_to_it_or_cancel_it(ann, bo):
    upload = ingest.begin(ann, 4)
    with pytest.raises(NotFound):
        ingest.append(bo, upload.pk, 0, b"x")
    with pytest.raises(NotFound):
        ingest.cancel_upload(bo, upload.pk)
    assert Upload.objects.get().received == 0


@pytest.mark.parametrize(
    ("limit", "size", "refusal"),
    [
        (10, 11, ("too_large", 413)),
        (2**62, 2**61, ("disk_full", 507)),
        (10, 0, ("empty_file", 400)),
    ],
)
def test_what_cannot_fit_is_refused_before_a_byte_is_sent(ann, settings, limit, size, refusal):
    settings.HISTORY_MAX_BYTES = limit
    with pytest.raises(DomainError) as caught:
        ingest.begin(ann, size)
    assert (caught.value.code, caught.value.status) == refusal
    assert not stored(settings)


def test_a_disk_that_fills_up_keeps_what_was_acknowledged(ann, monkeypatch):
    upload = ingest.begin(ann, 6)
    ingest.append(ann, upload.pk, 0, b"abc")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DomainError) as caught:
        ingest.append(ann, upload.pk, 3, b"def")
    assert caught.value.status == 507
    monkeypatch.undo()
    assert ingest.append(ann, upload.pk, 3, b"def").status == "requested"
    assert ingest.FILES.path_of(Upload.objects.get().stored).read_bytes() == b"abcdef"


def test_nobody_can_fill_the_disk_with_beginnings(ann):
    for _ in range(uploads.OPEN_LIMIT):
        ingest.begin(ann, 4)
    with pytest.raises(DomainError):
        ingest.begin(ann, 4)


def test_cancelling_deletes_the_bytes(ann, settings):
    upload = ingest.begin(ann, 4)
    ingest.append(ann, upload.pk, 0, b"ab")
    ingest.cancel_upload(ann, upload.pk)
    assert (Upload.objects.get().status, stored(settings)) == ("cancelled", [])


# --- The API ----------------------------------------------------------------------------------


def test_the_api_takes_a_file_whole(me, contents):
    contents[b"made up"] = [chat()]
    data = {"file": SimpleUploadedFile("x.zip", b"made up")}
    response = me.post("/api/v1/histories/", data)
    upload = Upload.objects.get()
    address = f"http://testserver/api/v1/histories/{upload.pk}/"
    assert (response.status_code, response["Location"]) == (202, address)
    sent = response.json()
    assert (sent["upload"], sent["status_url"]) == (str(upload.pk), address)
    ingest.run(upload.pk)
    body = me.get(address).json()
    assert (body["status"], body["counts"]["sessions"], body["error"]) == ("done", 1, None)


def test_the_api_takes_a_file_in_pieces(me, contents, settings):
    contents[b"abcdef"] = [chat()]
    begun = me.post("/api/v1/histories/", {"size": 6}, "application/json").json()
    address = begun["status_url"]

    def patch(offset, data):
        return me.patch(address, data, PIECE, headers={"Upload-Offset": offset})

    assert patch("0", b"abc").json()["offset"] == 3
    wrong = [("0", b"abc"), ("", b"abc"), ("-1", b"abc"), ("3", b"x" * (ingest.PIECE + 1))]
    assert [patch(*piece).status_code for piece in wrong] == [409, 400, 400, 413]
    assert patch("3", b"def").json()["status"] == "requested"
    (file,) = stored(settings)
    assert file.read_bytes() == b"abcdef"
    assert ingest.run(begun["upload"]).status == "done"


def test_the_api_refuses_what_is_no_file(me, settings):
    address = reverse("api-histories")
    for sent in ([{}], [{"size": 0}, "application/json"], [{"size": "x"}, "application/json"]):
        response = me.post(address, *sent)
        kind = "application/problem+json"
        assert (response.status_code, response["Content-Type"]) == (400, kind)
    settings.HISTORY_MAX_BYTES = 2**20
    response = me.post(address, {"size": 2**21}, "application/json")
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert not Upload.objects.exists()


def test_the_api_tells_a_failed_upload_by_its_code(me, ann, contents):
    contents[b"bad"] = Refused("zip_bomb")
    upload = ingest.run(send(ann, b"bad").pk)
    error = me.get(reverse("api-history", args=[upload.pk])).json()["error"]
    assert error["code"] == "zip_bomb"
    assert error["message"].startswith("The archive unpacks to far more")


# --- The job ----------------------------------------------------------------------------------


def test_a_second_worker_finds_the_upload_taken(ann, contents, monkeypatch):
    contents[b"made up"] = [chat()]
    upload = send(ann)
    seen = []
    real = ingest._read
    monkeypatch.setattr(
        ingest, "_read", lambda *given: (seen.append(ingest.run(upload.pk)), real(*given))
    )
    assert ingest.run(upload.pk).status == "done"
    assert seen == [None]


def test_an_upload_that_kills_its_worker_is_given_up_after_some_attempts(ann, settings):
    upload = send(ann)
    for attempt in range(1, jobs.TRIES + 1):
        assert ingest.uploads_due() == [upload.pk]
        assert ingest._claim(upload.pk).attempts == attempt
        Upload.objects.update(lease_expires_at="2020-01-01T00:00Z")
    assert ingest.uploads_due() == []
    upload.refresh_from_db()
    assert (upload.status, upload.error_code) == ("failed", "worker_lost")
    assert stored(settings) == []


def test_a_late_twin_stores_nothing(ann, contents):
    upload = send(ann)

    def records():
        yield chat()
        # Meanwhile the lease ran out and another worker took over.
        Upload.objects.update(attempts=2)

    contents[b"made up"] = records()
    assert ingest.run(upload.pk) is None
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)
    assert Upload.objects.get().status == "running"


def test_what_is_never_finished_is_deleted_after_a_day(ann, settings):
    upload = ingest.begin(ann, 4)
    ingest.FILES.create()  # of a process that was killed before it made a row
    ingest.uploads_due()
    assert len(stored(settings)) == 2
    Upload.objects.update(created_at="2020-01-01T00:00Z")
    for path in stored(settings):
        os.utime(path, (0, 0))
    ingest.uploads_due()
    upload.refresh_from_db()
    assert (upload.status, upload.error_code, stored(settings)) == ("cancelled", "abandoned", [])


@pytest.mark.django_db(transaction=True)
def test_a_reader_killed_in_the_middle_leaves_nothing_and_the_next_one_reads_all(
    contents, settings, ann
):
    upload = send(ann)

    def records():
        yield from (chat(f"c-{n}", "x" * 5_000) for n in range(400))
        die()

    contents[b"made up"] = records()
    killed(ingest.run, upload.pk)
    upload.refresh_from_db()
    assert (upload.status, upload.attempts) == ("running", 1)
    assert (Session.objects.count(), ingest.uploads_due()) == (0, [])
    Upload.objects.update(lease_expires_at="2020-01-01T00:00Z")
    contents[b"made up"] = [chat("c-1"), chat("c-2")]
    assert ingest.uploads_due() == [upload.pk]
    assert ingest.run(upload.pk).status == "done"
    assert Session.objects.count() == 2
    assert stored(settings) == []


@pytest.mark.django_db(transaction=True)
def test_cancelling_stops_the_reading_within_its_next_record(contents, monkeypatch, settings, ann):
    upload = send(ann)
    monkeypatch.setattr(ingest, "TELL_SECONDS", 0.01)
    given = []

    def records():
        for n in range(1_000_000):
            if n == 1:  # as another process would, on a connection of its own
                race(lambda pk: ingest.cancel_upload(ann, pk), [upload.pk])
            given.append(n)
            yield chat(f"c-{n}")

    contents[b"made up"] = records()
    assert ingest.run(upload.pk) is None
    assert len(given) < 1_000_000
    assert Session.objects.count() == 0
    assert Upload.objects.get().status == "cancelled"
    assert stored(settings) == []


NODES = tree(
    node("a", None, ["b"], "user", "I am ann@example.org: 去哪里喝茶?", at=1735725600.5),
    node("b", "a", [], "assistant", "By the lake.", at=1735725605.25),
)
EXPORT = as_json(
    [{"title": "Tea", "conversation_id": "c-1", "current_node": "b", "mapping": NODES}]
)


def test_an_export_becomes_a_session_that_others_see_redacted(ann):
    done = ingest.run(send(ann, EXPORT).pk)
    assert (done.status, done.error, done.progress) == ("done", "", len(EXPORT))
    assert (done.counts["sessions"], done.counts["messages"]) == (1, 2)
    one = next(browse.transcripts(Session.objects.filter(owner=ann)))
    assert one.text == "User: I am [EMAIL_1]: 去哪里喝茶?\n\nAssistant: By the lake."


@pytest.mark.parametrize(
    ("data", "code"),
    [(b'{"hello": 1}', "unsupported_format"), (b" ", "empty_file"), (b"PK\3\4", "corrupt_archive")],
)
def test_what_is_no_history_leaves_a_sentence_and_no_file(me, settings, data, code):
    me.post("/history/uploads/", {"file": SimpleUploadedFile("x", data)})
    done = ingest.run(Upload.objects.get().pk)
    assert (done.status, done.error_code) == ("failed", code)
    assert done.error.endswith(".")
    assert stored(settings) == []
    assert done.error in me.get("/history/uploads/").content.decode().replace("&#x27;", "'")


def test_what_is_said_of_a_file_is_in_the_language_it_was_sent_in(me):
    ended, odd = EXPORT[:-9], EXPORT[:-1] + b', {"mapping": {}}]'
    for data in (ended, odd):
        file = SimpleUploadedFile("x", data)
        me.post("/history/uploads/", {"file": file}, headers={"Accept-Language": "ko"})
        with translation.override("en"):  # as a worker is
            ingest.run(Upload.objects.latest("created_at").pk)
    with translation.override("ko"):
        sentence, place_, reason = str(REFUSALS["truncated_json"]), place_of(2), OMISSIONS["empty"]
        assert Upload.objects.get(status="failed").error == sentence
        assert Upload.objects.get(status="done").left_out() == [(place_, str(reason))]
    with translation.override("en"):
        assert str(REFUSALS["truncated_json"]) != sentence
