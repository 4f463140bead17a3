"""Copilot's table: order, columns and merged titles."""

from datetime import UTC, datetime

from .samples import COPILOT, chats, records, turns


def test_copilots_rows_are_reversed_and_not_sorted():
    (chat,) = records(COPILOT)
    assert turns(chat) == [
        ("user", "Only cells over 10?"),
        ("assistant", 'Use `SUMIF`.\n\nThen "Enter".'),
        ("user", "Sure?"),
        ("assistant", "Yes."),
    ]
    assert (chat.title, chat.time_zone_assumed) == ("Excel help", True)
    assert chat.created_at == datetime(2026, 7, 27, 10, 5, tzinfo=UTC)


def test_equal_titles_of_copilot_merge_and_keep_their_id():
    other = COPILOT + b"Other,2026-07-26T10:05:00,Human,Hi\r\n"
    assert chats(other)[0].id == chats(COPILOT)[0].id
    assert len(chats(other)) == 2


def test_a_copilot_answer_beyond_the_csv_modules_default_is_read():
    long = "word " * 40_000
    data = COPILOT + f"Other,2026-07-26T10:05:00,AI,{long}\r\n".encode()
    assert chats(data)[1].messages[0].text == long


def test_copilots_columns_may_stand_in_another_order_and_beside_others():
    rows = (
        "Time,Conversation,Author,Message,Model",
        "2026-07-27,C,AI,A,m",
        "2026-07-27,C,Human,Q,m",
    )
    (chat,) = chats("\n".join(rows).encode())
    assert (chat.title, turns(chat)) == ("C", [("user", "Q"), ("assistant", "A")])
