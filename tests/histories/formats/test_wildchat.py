"""WildChat's rows."""

from . import samples
from .samples import as_lines, chats, turns


def test_wildchat_takes_the_rows_time_where_a_turn_has_none():
    (chat,) = chats(as_lines(samples.WILDCHAT))
    assert chat.id == "0a1b"
    assert turns(chat) == [("user", "Hi"), ("assistant", "Hello")]
    assert [m.at.second for m in chat.messages] == [6, 7]
    assert [m.model for m in chat.messages] == ["", "gpt-4-1106-preview"]
    assert "0bad" not in repr(chat)
    assert "secret" not in repr(chat)


def test_wildchats_first_release_has_another_id():
    row = {**samples.WILDCHAT, "conversation_id": "first"}
    del row["conversation_hash"]
    assert chats(as_lines(row))[0].id == "first"
