"""Claude's conversations.json."""

from datetime import UTC, datetime

from annotation.histories.records import Conversation, Message

from .samples import (
    CLAUDE,
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

ASKED = datetime(2026, 4, 2, 22, 0, 0, 838_614, tzinfo=UTC)
ANSWERED = datetime(2026, 4, 2, 22, 0, 9, 1, tzinfo=UTC)


def message(name, sender, text, at, parent=None):
    found = {"uuid": name, "sender": sender, "text": text, "created_at": at}
    return found | ({"parent_message_uuid": parent} if parent else {})


def test_the_published_layout_is_read():
    assert records(as_json([CLAUDE])) == [
        Conversation(
            "claude",
            "c-1",
            "Herbs",
            (
                Message("user", "Shade herbs?", ASKED, "m1", ("list.txt", "bed.png")),
                Message("assistant", "Mint.\n\nOr ferns.", ANSWERED, "m2"),
            ),
            ASKED,
            ANSWERED,
            account="acc-1",
        )
    ]


def test_older_exports_say_messages_and_have_no_content():
    old = {"uuid": "o", "title": "Old", "messages": [message("1", "human", "Hi", None)]}
    (chat,) = chats(as_json(old))
    assert (chat.title, turns(chat)) == ("Old", [("user", "Hi")])


def test_the_path_goes_up_from_the_newest_message():
    nil = "00000000-0000-4000-8000-000000000000"
    tree = [
        message("q", "human", "Q", "2026-01-01T00:00:00Z", nil),
        message("new", "assistant", "new", "2026-01-01T00:02:00Z", "q"),
        message("old", "assistant", "old", "2026-01-01T00:01:00Z", "q"),
    ]
    (chat,) = chats(as_json([{"uuid": "c", "chat_messages": tree}]))
    assert turns(chat) == [("user", "Q"), ("assistant", "new")]


def test_an_upload_alone_is_a_message_and_nothing_at_all_is_none():
    upload = {"uuid": "m", "sender": "human", "text": "", "content": [],
              "attachments": [{"file_name": "", "extracted_content": "x"}]}  # fmt: skip
    blank = {"uuid": "c-2", "chat_messages": [message("m", "human", " ", None)]}
    data = as_json([{"uuid": "c", "chat_messages": [upload]}, blank])
    assert chats(data)[0].messages[0].attachments == ("file",)
    assert skips(data) == [("entry 2", "empty")]


def test_accounts_are_told_apart_across_the_files_of_an_archive():
    other = CLAUDE | {"uuid": "c-2", "account": {"uuid": "acc-2"}}
    archive = zipped(
        {"a/conversations.json": as_json([CLAUDE]), "b/conversations.json": as_json([other])}
    )
    assert refusal(archive) == "unsupported_format"
    ours = CLAUDE | {"uuid": "c-2"}
    archive = zipped(
        {"a/conversations.json": as_json([CLAUDE]), "b/conversations.json": as_json([ours])}
    )
    assert [chat.id for chat in chats(archive)] == ["c-1", "c-2"]


def test_a_turn_that_is_a_call_of_a_tool_alone_is_no_message():
    note = "```\nThis block is not supported on your current device yet.\n```\n\n"
    call = {"content": [{"type": "tool_use", "name": "web_search", "input": {}}]}
    listed = [
        message("q", "human", "Q", "2026-01-01T00:00:00Z"),
        message("t", "assistant", note, "2026-01-01T00:01:00Z") | call,
        message("a", "assistant", f"{note}Mint.", "2026-01-01T00:02:00Z") | call,
    ]
    (chat,) = chats(as_json([{"uuid": "c", "chat_messages": listed}]))
    assert turns(chat) == [("user", "Q"), ("assistant", "Mint.")]


def test_messages_before_the_first_parent_that_is_told_are_not_lost():
    listed = [
        message("1", "human", "Q", "2026-01-01T00:00:00Z"),
        message("2", "assistant", "A", "2026-01-01T00:01:00Z"),
        message("3", "human", "Q2", "2026-01-01T00:02:00Z"),
        message("4", "assistant", "A2", "2026-01-01T00:03:00Z", "3"),
    ]
    (chat,) = chats(as_json([{"uuid": "c", "chat_messages": listed}]))
    assert [text for _role, text in turns(chat)] == ["Q", "A", "Q2", "A2"]


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
