"""Copilot, Grok, DeepSeek and Le Chat."""

from datetime import UTC, datetime

from annotation.histories.records import Conversation, Message

from .samples import (
    COPILOT,
    DEEPSEEK,
    GROK,
    LECHAT,
    as_json,
    chats,
    records,
    refusal,
    skips,
    turns,
    zipped,
)


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


def test_deepseek_is_not_chatgpt_and_follows_the_last_child():
    asked = datetime(2025, 3, 8, 2, 0, 1, tzinfo=UTC)
    answered = datetime(2025, 3, 8, 2, 0, 5, tzinfo=UTC)
    assert records(as_json([DEEPSEEK])) == [
        Conversation(
            "deepseek",
            "d-1",
            "早餐",
            (
                Message("user", "吃什么？", asked, "1", ("menu.pdf",), "deepseek-chat"),
                Message("assistant", "豆浆。", answered, "2"),
            ),
            datetime(2025, 3, 8, 2, 0, 0, 505_000, tzinfo=UTC),
            datetime(2025, 3, 8, 2, 5, tzinfo=UTC),
        )
    ]


def test_a_circle_of_deepseeks_children_ends():
    asked = {"fragments": [{"type": "REQUEST", "content": "Q"}]}
    mapping = {
        "a": {"children": ["b"], "message": asked},
        "b": {"parent": "a", "children": ["a", "b"]},
    }
    (chat,) = chats(as_json([{"mapping": mapping, "inserted_at": None}]))
    assert turns(chat) == [("user", "Q")]


def test_le_chats_messages_are_sorted_by_time():
    (chat,) = records(as_json(LECHAT))
    assert chat.id == "c-1"
    assert turns(chat) == [("user", "Que vois-tu ?"), ("assistant", "Un chat.")]
    assert chat.messages[0].attachments == ("photo.png",)


def test_le_chats_archive_has_one_file_a_chat():
    second = [message | {"chatId": "c-2"} for message in LECHAT]
    archive = zipped({"chat-1.json": as_json(LECHAT), "chat-2.json": as_json([*second, 5])})
    assert [chat.id for chat in chats(archive)] == ["c-1", "c-2"]
    assert skips(archive) == [("chat-2.json: entry 3", "junk")]


def test_a_history_of_system_turns_alone_is_empty():
    assert refusal(as_json({"messages": [{"role": "system", "content": "x"}]})) == "empty_history"


def test_copilots_columns_may_stand_in_another_order_and_beside_others():
    rows = (
        "Time,Conversation,Author,Message,Model",
        "2026-07-27,C,AI,A,m",
        "2026-07-27,C,Human,Q,m",
    )
    (chat,) = chats("\n".join(rows).encode())
    assert (chat.title, turns(chat)) == ("C", [("user", "Q"), ("assistant", "A")])
