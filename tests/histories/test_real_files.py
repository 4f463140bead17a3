"""From the bytes of an export to a redacted text: the formats, the rows and the marks together."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import translation

from annotation.histories import browse, ingest
from annotation.histories.formats.build import place
from annotation.histories.models import Session, Upload
from annotation.histories.records import OMISSIONS, REFUSALS


def export() -> bytes:
    def node(id_, parent, role, text, at):
        message = {
            "id": id_,
            "author": {"role": role},
            "create_time": at,
            "recipient": "all",
            "content": {"content_type": "text", "parts": [text]},
        }
        return {"id": id_, "parent": parent, "children": [], "message": message}

    mapping = {
        "a": node("a", None, "user", "I am ann@example.org: 去哪里喝茶?", 1735725600.5),
        "b": node("b", "a", "assistant", "By the lake.", 1735725605.25),
    }
    chat = {
        "title": "Tea", "create_time": 1735725600.5, "update_time": 1735725605.25,
        "conversation_id": "c-1", "current_node": "b", "mapping": mapping,
    }  # fmt: skip
    return json.dumps([chat], ensure_ascii=False).encode()


def test_an_export_becomes_a_session_that_others_see_redacted(ann):
    file = export()
    upload = ingest.begin(ann, len(file))
    ingest.append(ann, upload.pk, 0, file)
    done = ingest.run(upload.pk)
    assert (done.status, done.error) == ("done", "")
    assert (done.counts["sessions"], done.counts["messages"]) == (1, 2)
    assert done.progress == len(file)
    one = next(browse.transcripts(Session.objects.filter(owner=ann)))
    assert one.text == "User: I am [EMAIL_1]: 去哪里喝茶?\n\nAssistant: By the lake."


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b'{"hello": 1}', "unsupported_format"),
        (b" ", "empty_file"),
        (b"PK\x03\x04", "corrupt_archive"),
    ],
)
def test_what_is_no_history_leaves_a_sentence_and_no_file(client, login, ann, settings, data, code):
    login(ann)
    client.post("/history/uploads/", {"file": SimpleUploadedFile("x", data)})
    done = ingest.run(Upload.objects.get().pk)
    assert (done.status, done.error_code) == ("failed", code)
    assert done.error.endswith(".")
    assert not any((settings.DATA / "histories").glob("*"))
    assert done.error in client.get("/history/uploads/").content.decode().replace("&#x27;", "'")


def test_what_is_said_of_a_file_is_in_the_language_it_was_sent_in(client, login, ann):
    login(ann)
    ended, odd = export()[:-9], export()[:-1] + b', {"mapping": {}}]'
    for data in (ended, odd):
        file = SimpleUploadedFile("x", data)
        client.post("/history/uploads/", {"file": file}, headers={"Accept-Language": "ko"})
        with translation.override("en"):  # as a worker is
            ingest.run(Upload.objects.latest("created_at").pk)
    with translation.override("ko"):
        sentence, place_, reason = str(REFUSALS["truncated_json"]), place(2), OMISSIONS["empty"]
        assert Upload.objects.get(status="failed").error == sentence
        assert Upload.objects.get(status="done").left_out() == [(place_, str(reason))]
    with translation.override("en"):
        assert str(REFUSALS["truncated_json"]) != sentence
