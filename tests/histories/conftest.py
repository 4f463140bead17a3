"""Made-up histories, so that these tests need no format: records come from a list."""

from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from annotation.histories import ingest
from annotation.histories.records import Conversation, Message, Search

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)


def chat(id_="c-1", *texts, minutes=0, title="Trip", provider="chatgpt", **fields) -> Conversation:
    """A conversation whose messages are one minute apart, user and assistant in turn."""
    texts = texts or ("Where shall I go?", "To the sea.")
    start = NOON + timedelta(minutes=minutes)
    messages = tuple(
        Message(("user", "assistant")[n % 2], text, start + timedelta(minutes=n), f"{id_}-{n}")
        for n, text in enumerate(texts)
    )
    last = start + timedelta(minutes=len(texts))
    return Conversation(provider, id_, title, messages, start, last, **fields)


def search(text="tea houses", minutes=0, provider="google-search") -> Search:
    return Search(provider, text, NOON + timedelta(minutes=minutes))


def send(owner, data=b"made up"):
    """Send a file in one piece; its upload, which waits to be read."""
    upload = ingest.begin(owner, len(data))
    return ingest.append(owner, upload.pk, 0, data)


def stored(settings) -> list:
    """The files that lie here until they are read."""
    return list((settings.DATA / "histories").glob("*"))


@pytest.fixture(autouse=True)
def _own_folder(settings, tmp_path):
    settings.DATA = tmp_path


@pytest.fixture
def me(login, ann):
    """The test client, in which Ann is logged in."""
    return login(ann)


@pytest.fixture
def contents(monkeypatch):
    """Bytes of a file -> its records. Files are made up; what reads them is formats' own test."""
    records = {}

    @contextmanager
    def opened(path, progress=lambda done: None):
        data = path.read_bytes()
        progress(len(data))
        found = records[data]
        if isinstance(found, Exception):
            raise found
        yield "made-up", iter(found)

    monkeypatch.setattr(ingest, "reading_of", opened)
    return records


@pytest.fixture
def bring(contents):
    """A function that lets a person send records as a file and reads it; the upload."""

    def bring_(owner, *records, name=b""):
        data = name or repr(records).encode()
        contents[data] = records
        return ingest.run(send(owner, data).pk)

    return bring_
