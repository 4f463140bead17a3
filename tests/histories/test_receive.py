"""Bytes in pieces, a broken line, a full disk, a killed reader: nothing twice and nothing half."""

import errno
import os
import signal
import subprocess
import sys
import textwrap

import pytest
from django.db import connection
from django.urls import reverse

from annotation.core import jobs, uploads
from annotation.core.errors import DomainError, NotFound
from annotation.histories import ingest, receive
from annotation.histories.models import Message, Session, Upload
from annotation.histories.records import Refused
from tests.histories.conftest import chat

PIECE = "application/octet-stream"


def stored(settings) -> list:
    return list((settings.DATA / "histories").glob("*"))


def test_a_file_in_pieces_is_the_file(ann, contents, settings):
    contents[b"abcdef"] = [chat()]
    upload = receive.begin(ann, 6, "mark")
    for place, part in ((0, b"abc"), (3, b"de"), (5, b"f")):
        upload = receive.append(ann, upload.pk, place, part)
    assert upload.status == "requested"
    assert (settings.DATA / "histories" / upload.stored).read_bytes() == b"abcdef"
    assert ingest.run(upload.pk).status == "done"


def test_after_a_broken_line_the_same_file_goes_on_where_it_stopped(ann):
    upload = receive.begin(ann, 6, "mark")
    receive.append(ann, upload.pk, 0, b"abc")
    again = receive.begin(ann, 6, "mark")
    assert (again.pk, again.received) == (upload.pk, 3)
    assert receive.begin(ann, 7, "other").pk != upload.pk


def test_a_piece_sent_twice_counts_once_and_tells_where_to_go_on(ann):
    upload = receive.begin(ann, 6)
    receive.append(ann, upload.pk, 0, b"abc")
    with pytest.raises(uploads.WrongOffset) as caught:
        receive.append(ann, upload.pk, 0, b"abc")
    assert caught.value.offset == 3
    assert Upload.objects.get().received == 3


def test_somebody_else_cannot_add_to_it_or_cancel_it(ann, bo):
    upload = receive.begin(ann, 4)
    for act in (
        lambda: receive.append(bo, upload.pk, 0, b"x"),
        lambda: receive.cancel(bo, upload.pk),
    ):
        with pytest.raises(NotFound):
            act()
    assert Upload.objects.get().received == 0


def test_what_cannot_fit_is_refused_before_a_byte_is_sent(ann, settings, monkeypatch):
    settings.HISTORY_MAX_BYTES = 10
    with pytest.raises(DomainError) as caught:
        receive.begin(ann, 11)
    assert (caught.value.code, caught.value.status) == ("too_large", 413)
    settings.HISTORY_MAX_BYTES = 2**62
    with pytest.raises(DomainError) as caught:
        receive.begin(ann, 2**61)
    assert (caught.value.code, caught.value.status) == ("disk_full", 507)
    assert not stored(settings)


def test_a_disk_that_fills_up_keeps_what_was_acknowledged(ann, monkeypatch):
    upload = receive.begin(ann, 6)
    receive.append(ann, upload.pk, 0, b"abc")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DomainError) as caught:
        receive.append(ann, upload.pk, 3, b"def")
    assert caught.value.status == 507
    monkeypatch.undo()
    assert receive.append(ann, upload.pk, 3, b"def").status == "requested"
    assert receive.FILES.path_of(Upload.objects.get().stored).read_bytes() == b"abcdef"


def test_nobody_can_fill_the_disk_with_beginnings(ann):
    for _ in range(uploads.OPEN_LIMIT):
        receive.begin(ann, 4)
    with pytest.raises(DomainError):
        receive.begin(ann, 4)


def test_cancelling_deletes_the_bytes(ann, settings):
    upload = receive.begin(ann, 4)
    receive.append(ann, upload.pk, 0, b"ab")
    receive.cancel(ann, upload.pk)
    assert (Upload.objects.get().status, stored(settings)) == ("cancelled", [])


# --- The API ----------------------------------------------------------------------------------


def test_the_api_takes_a_file_whole(client, login, ann, contents):
    from django.core.files.uploadedfile import SimpleUploadedFile

    contents[b"made up"] = [chat()]
    login(ann)
    data = {"file": SimpleUploadedFile("x.zip", b"made up")}
    response = client.post("/api/v1/histories/", data)
    upload = Upload.objects.get()
    address = f"http://testserver/api/v1/histories/{upload.pk}/"
    assert response.status_code == 202
    assert response.json()["upload"] == str(upload.pk)
    assert response.json()["status_url"] == address == response["Location"]
    ingest.run(upload.pk)
    body = client.get(address).json()
    assert (body["status"], body["counts"]["sessions"], body["error"]) == ("done", 1, None)


def test_the_api_takes_a_file_in_pieces(client, login, ann, contents):
    contents[b"abcdef"] = [chat()]
    login(ann)
    begun = client.post("/api/v1/histories/", {"size": 6}, "application/json").json()
    address = begun["status_url"]

    def patch(offset, data):
        return client.patch(address, data, PIECE, headers={"Upload-Offset": offset})

    assert patch("0", b"abc").json()["offset"] == 3
    assert patch("0", b"abc").status_code == 409
    assert patch("", b"abc").status_code == 400
    assert patch("-1", b"abc").status_code == 400
    assert patch("3", b"x" * (receive.PIECE + 1)).status_code == 413
    assert patch("3", b"def").json()["status"] == "requested"
    assert ingest.run(begun["upload"]).status == "done"


def test_the_api_refuses_what_is_no_file(client, login, ann, settings):
    login(ann)
    address = reverse("api-histories")
    for body, kind in (
        ({}, None),
        ({"size": 0}, "application/json"),
        ({"size": "x"}, "application/json"),
    ):
        response = client.post(address, body, **({"content_type": kind} if kind else {}))
        assert response.status_code == 400
        assert response["Content-Type"] == "application/problem+json"
    settings.HISTORY_MAX_BYTES = 2**20
    response = client.post(address, {"size": 2**21}, "application/json")
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert not Upload.objects.exists()


def test_the_api_tells_a_failed_upload_by_its_code(client, login, ann, contents):
    contents[b"bad"] = Refused("zip_bomb")
    login(ann)
    upload = receive.begin(ann, 3)
    receive.append(ann, upload.pk, 0, b"bad")
    ingest.run(upload.pk)
    error = client.get(reverse("api-history", args=[upload.pk])).json()["error"]
    assert error["code"] == "zip_bomb"
    assert error["message"].startswith("The archive unpacks to far more")


# --- The job ----------------------------------------------------------------------------------


def requested(owner, data=b"made up") -> Upload:
    upload = receive.begin(owner, len(data))
    return receive.append(owner, upload.pk, 0, data)


def test_a_second_worker_finds_the_upload_taken(ann, contents, monkeypatch):
    contents[b"made up"] = [chat()]
    upload = requested(ann)
    seen = []
    real = ingest._read
    monkeypatch.setattr(
        ingest, "_read", lambda *given: (seen.append(ingest.run(upload.pk)), real(*given))
    )
    assert ingest.run(upload.pk).status == "done"
    assert seen == [None]


def test_an_upload_that_kills_its_worker_is_given_up_after_some_attempts(ann, settings):
    upload = requested(ann)
    for attempt in range(1, jobs.TRIES + 1):
        assert ingest.uploads_due() == [upload.pk]
        assert ingest._claim(upload.pk).attempts == attempt
        Upload.objects.update(lease_expires_at="2020-01-01T00:00Z")
    assert ingest.uploads_due() == []
    upload.refresh_from_db()
    assert (upload.status, upload.error_code) == ("failed", "worker_lost")
    assert stored(settings) == []


def test_a_late_twin_stores_nothing(ann, contents):
    upload = requested(ann)

    def records():
        yield chat()
        # Meanwhile the lease ran out and another worker took over.
        Upload.objects.update(attempts=2)

    contents[b"made up"] = records()
    assert ingest.run(upload.pk) is None
    assert (Session.objects.count(), Message.objects.count()) == (0, 0)
    assert Upload.objects.get().status == "running"


def test_what_is_never_finished_is_deleted_after_a_day(ann, settings):
    upload = receive.begin(ann, 4)
    receive.FILES.create()  # of a process that was killed before it made a row
    ingest.uploads_due()
    assert len(stored(settings)) == 2
    Upload.objects.update(created_at="2020-01-01T00:00Z")
    for path in stored(settings):
        os.utime(path, (0, 0))
    ingest.uploads_due()
    upload.refresh_from_db()
    assert (upload.status, upload.error_code, stored(settings)) == ("cancelled", "abandoned", [])


KILLED = """
    import os, django
    django.setup()
    from django.conf import settings
    from pathlib import Path
    settings.DATABASES["default"]["NAME"] = {database!r}
    settings.DATA = Path({data!r})
    from contextlib import contextmanager
    from annotation.histories import ingest
    from annotation.histories.records import Conversation, Message

    class Reading:
        source = "made-up"
        def __iter__(self):
            for n in range(10_000):
                yield Conversation("chatgpt", f"c-{{n}}", "", (Message("user", "x" * 5_000),))
                if n == 400:
                    print("half", flush=True)
                    os.read(0, 1)

    @contextmanager
    def opened(path, progress):
        yield Reading()

    ingest.opened = opened
    ingest.run({upload!r})
"""


@pytest.mark.django_db(transaction=True)
def test_a_reader_killed_in_the_middle_leaves_nothing_and_the_next_one_reads_all(
    cast, contents, settings
):
    ann = cast.person("Ann")
    upload = requested(ann)
    script = textwrap.dedent(KILLED).format(
        database=connection.settings_dict["NAME"], data=str(settings.DATA), upload=str(upload.pk)
    )
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "annotation.settings"}
    child = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=settings.BASE_DIR,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout.readline() == b"half\n"
    child.send_signal(signal.SIGKILL)
    child.wait()
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
def test_cancelling_stops_the_reading_within_its_next_record(cast, contents, monkeypatch, settings):
    ann = cast.person("Ann")
    upload = requested(ann)
    monkeypatch.setattr(ingest, "TELL_SECONDS", 0.01)
    given = []

    def records():
        for n in range(1_000_000):
            if n == 1:
                cancel_elsewhere(ann, upload.pk)
            given.append(n)
            yield chat(f"c-{n}")

    contents[b"made up"] = records()
    assert ingest.run(upload.pk) is None
    assert len(given) < 1_000_000
    assert Session.objects.count() == 0
    assert Upload.objects.get().status == "cancelled"
    assert list((settings.DATA / "histories").iterdir()) == []


def cancel_elsewhere(owner, pk):
    """Cancel on a connection of one's own, as another process would."""
    import threading

    def work():
        receive.cancel(owner, pk)
        connection.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
