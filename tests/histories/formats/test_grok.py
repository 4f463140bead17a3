"""Grok's nested folders."""

from datetime import UTC, datetime

from annotation.histories.records import Conversation, Message

from .samples import GROK, as_json, records, zipped


def test_groks_layout_is_read_inside_nested_folders():
    archive = zipped({
        "ttl/30d/export_data/0a/prod-grok-backend.json": as_json(GROK),
        "ttl/30d/export_data/0a/prod-mc-auth-mgmt-api.json": b'{"sessions": [{"ip": "1.2.3.4"}]}',
        "ttl/30d/export_data/0a/prod-mc-asset-server/1/content": b"\xff\xd8",
    })  # fmt: skip
    start = datetime(2025, 1, 15, 10, 9, 59, tzinfo=UTC)
    end = datetime(2025, 1, 15, 10, 10, 5, tzinfo=UTC)
    asked = datetime(2025, 1, 15, 10, 10, tzinfo=UTC)
    answered = datetime(2025, 1, 15, 10, 10, 3, 250_000, tzinfo=UTC)
    messages = (
        Message("user", "How far?", asked, "r1", (), "grok-3"),
        Message("assistant", "8.6 light-years.", answered, "r2"),
    )
    expected = [Conversation("grok", "g-1", "Stars", messages, start, end)]
    assert records(archive) == records(as_json(GROK)) == expected
