"""Exports that others published: the excerpts here, and more where they are at hand."""

from collections import Counter
from pathlib import Path

import pytest

from annotation.histories.records import Conversation, Search, Visit

from .samples import records

EXCERPTS = Path(__file__).parents[2] / "data" / "histories"


def counted(path: Path) -> tuple[dict, int]:
    """Records by kind, and messages."""
    found = records(path.read_bytes())
    kinds = Counter(type(record) for record in found)
    chats = [record for record in found if isinstance(record, Conversation)]
    return dict(kinds), sum(len(chat.messages) for chat in chats)


@pytest.mark.parametrize(
    ("name", "kinds", "messages"),
    [
        ("chatgpt-conversation.json", {Conversation: 1}, 2),
        ("claude-minimal.json", {Conversation: 1}, 1),
        ("grok-minimal.json", {Conversation: 1}, 2),
        ("google-takeout-MyActivity.html", {Visit: 2, Search: 1}, 0),
        ("sharegpt-style.json", {Conversation: 2}, 6),
    ],
)
def test_the_excerpts_are_read(name, kinds, messages):
    assert counted(EXCERPTS / name) == (kinds, messages)
