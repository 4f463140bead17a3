"""Conversations of assistants' exports and of public corpora, as records."""

from datetime import UTC, datetime

import pytest

from annotation.histories.records import Conversation, Message, Search

from . import samples
from .samples import (
    CHATGPT,
    CLAUDE,
    as_json,
    as_lines,
    chats,
    node,
    records,
    refusal,
    skips,
    tree,
    turns,
    zipped,
)


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


def test_chatgpts_published_layout_is_read():
    asked, answered = at(2025, 1, 1, 10, 0, 0, 500_000), at(2025, 1, 1, 10, 0, 5, 250_000)
    messages = (
        Message("user", "What is this?", asked, "m-n2", ("cat.png",)),
        Message("assistant", "A cat.", answered, "m-n3", (), "gpt-4o"),
    )
    expected = Conversation("chatgpt", "c-1", "Trip", messages, asked, answered)
    assert records(as_json([CHATGPT])) == [expected]


def test_wrapped_lone_and_paged_conversations_are_the_same():
    expected = records(as_json([CHATGPT]))
    assert records(as_json({"conversations": [CHATGPT]})) == expected
    assert records(as_json(CHATGPT)) == expected
    assert records(samples.CHAT_HTML) == expected


def test_shards_are_read_and_the_page_beside_them_is_not():
    second = CHATGPT | {"id": "c-2", "conversation_id": None}
    archive = zipped({
        "conversations-000.json": as_json([CHATGPT]),
        "conversations-001.json": as_json([second]),
        "chat.html": samples.CHAT_HTML,
        "user.json": b'{"email": "ann@example.org"}',
        "message_feedback.json": b'[{"id": "m", "rating": "thumbs_up"}]',
        "conversation_asset_file_names.json": b'{"a.dat": "cat.png"}',
        "a.dat": b"\x89PNG",
        "notes.csv": b"date,text\n2026-01-01,an attachment\n",
    })  # fmt: skip
    assert [chat.id for chat in records(archive)] == ["c-1", "c-2"]


def test_the_portals_archive_of_archives_is_read():
    inner = zipped({"conversations.json": as_json([CHATGPT])})
    name = "User Online Activity/Conversations__0fe1-chatgpt-0001-part-0001.zip"
    assert records(zipped({name: inner})) == records(as_json([CHATGPT]))
    assert refusal(zipped({"other.zip": inner})) == "nested_archive"
    assert refusal(zipped({name: zipped({name: inner})})) == "nested_archive"


def test_a_missing_or_dangling_current_node_means_the_newest_leaf():
    nodes = tree(
        node("r", None, ["a"]),
        node("a", "r", ["b", "c"], "user", "Q", at=1_700_000_000),
        node("b", "a", [], "assistant", "new", at=1_700_000_009),
        node("c", "a", [], "assistant", "old", at=1_700_000_005),
    )
    for current in (None, "nowhere", 7, []):
        (chat,) = chats(as_json([{"mapping": nodes, "current_node": current}]))
        assert turns(chat) == [("user", "Q"), ("assistant", "new")]


def test_what_was_not_shown_is_no_message():
    nodes = tree(
        node("0", None, [], "system", "You are"),
        node("1", "0", [], "user", "about me", kind="user_editable_context"),
        node("2", "1", [], "user", "custom", metadata={"is_user_system_message": True}),
        node("3", "2", [], "user", "Q"),
        node("4", "3", [], "assistant", "search(1)", recipient="browser"),
        node("5", "4", [], "assistant", "print(1)", kind="code", recipient="python"),
        node("6", "5", [], "tool", "1", kind="execution_output"),
        node("7", "6", [], "assistant", "hm", kind="thoughts"),
        node("8", "7", [], "assistant", None, "", "  "),
        node("9", "8", [], "assistant", "one", None, "two"),
    )
    (chat,) = chats(as_json([{"mapping": nodes, "current_node": "9"}]))
    assert turns(chat) == [("user", "Q"), ("assistant", "one\ntwo")]


def test_unknown_content_is_left_out_and_told():
    nodes = tree(node("1", None, ["2"], "user", "Q"), node("2", "1", [], "user", "x", kind="new"))
    data = as_json([{"mapping": nodes, "current_node": "2"}])
    assert skips(data) == [("entry 1", "unknown_content")]
    assert turns(chats(data)[0]) == [("user", "Q")]


def test_speech_is_its_text_and_files_without_a_name_have_their_id():
    parts = [
        {"content_type": "audio_transcription", "text": "Hello", "direction": "in"},
        {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1"},
        {"content_type": "real_time_user_audio_video_asset_pointer",
         "audio_asset_pointer": {"asset_pointer": "sediment://file_2"}},
    ]  # fmt: skip
    nodes = tree(node("1", None, [], "user", *parts, kind="multimodal_text"))
    (chat,) = chats(as_json([{"mapping": nodes}]))
    assert (chat.messages[0].text, chat.messages[0].attachments) == ("Hello", ("file_1", "file_2"))


def test_texts_are_kept_but_for_what_cannot_be_stored_or_seen():
    words = "a\0b \ud83d c \ue200cite\ue202turn0search1\ue201 d \ue200e &amp; **f** 【12†L1】"
    (chat,) = chats(as_json([{"mapping": tree(node("1", None, [], "user", words))}]))
    assert chat.messages[0].text == "ab \ufffd c  d \ue200e &amp; **f** 【12†L1】"


def test_titles_may_be_null_and_an_id_is_made_where_none_is():
    data = [CHATGPT | {"title": None, "id": None, "conversation_id": None}]
    (first,), (again,) = chats(as_json(data)), chats(as_json(data))
    assert first.title == ""
    assert len(first.id) == 32
    assert first.id == again.id


def test_messages_leave_out_tools_and_keep_no_picture():
    first, second = chats(as_lines(*samples.MESSAGES))
    assert turns(first) == [("user", "Hi"), ("assistant", "Hello")]
    assert turns(second) == [("user", "Look")]
    assert second.messages[0].attachments == ("image_url",)
    assert "data:" not in repr(second)
    assert chats(as_json(list(samples.MESSAGES))) == [first, second]
    assert chats(as_json(samples.MESSAGES[0])) == [first]


def message(name, sender, text, at, parent=None):
    found = {"uuid": name, "sender": sender, "text": text, "created_at": at}
    return found | ({"parent_message_uuid": parent} if parent else {})


def test_claudes_published_layout_is_read():
    asked, answered = at(2026, 4, 2, 22, 0, 0, 838_614), at(2026, 4, 2, 22, 0, 9, 1)
    messages = (
        Message("user", "Shade herbs?", asked, "m1", ("list.txt", "bed.png")),
        Message("assistant", "Mint.\n\nOr ferns.", answered, "m2"),
    )
    expected = Conversation("claude", "c-1", "Herbs", messages, asked, answered, account="acc-1")
    assert records(as_json([CLAUDE])) == [expected]


def test_older_exports_say_messages_and_have_no_content():
    old = {"uuid": "o", "title": "Old", "messages": [message("1", "human", "Hi", None)]}
    (chat,) = chats(as_json(old))
    assert (chat.title, turns(chat)) == ("Old", [("user", "Hi")])


NIL = "00000000-0000-4000-8000-000000000000"
NOTE = "```\nThis block is not supported on your current device yet.\n```\n\n"
CALL = {"content": [{"type": "tool_use", "name": "web_search", "input": {}}]}


@pytest.mark.parametrize(
    ("listed", "shown"),
    [
        # The path goes up from the newest message.
        (
            [
                message("q", "human", "Q", "2026-01-01T00:00:00Z", NIL),
                message("new", "assistant", "new", "2026-01-01T00:02:00Z", "q"),
                message("old", "assistant", "old", "2026-01-01T00:01:00Z", "q"),
            ],
            ["Q", "new"],
        ),
        # A turn that is a call of a tool alone is no message.
        (
            [
                message("q", "human", "Q", "2026-01-01T00:00:00Z"),
                message("t", "assistant", NOTE, "2026-01-01T00:01:00Z") | CALL,
                message("a", "assistant", f"{NOTE}Mint.", "2026-01-01T00:02:00Z") | CALL,
            ],
            ["Q", "Mint."],
        ),
        # Messages before the first parent that is told are not lost.
        (
            [
                message("1", "human", "Q", "2026-01-01T00:00:00Z"),
                message("2", "assistant", "A", "2026-01-01T00:01:00Z"),
                message("3", "human", "Q2", "2026-01-01T00:02:00Z"),
                message("4", "assistant", "A2", "2026-01-01T00:03:00Z", "3"),
            ],
            ["Q", "A", "Q2", "A2"],
        ),
    ],
)
def test_of_claudes_tree_the_path_to_the_newest_message_is_shown(listed, shown):
    (chat,) = chats(as_json([{"uuid": "c", "chat_messages": listed}]))
    assert [text for _role, text in turns(chat)] == shown


def test_an_upload_alone_is_a_message_and_nothing_at_all_is_none():
    upload = {"uuid": "m", "sender": "human", "text": "", "content": [],
              "attachments": [{"file_name": "", "extracted_content": "x"}]}  # fmt: skip
    blank = {"uuid": "c-2", "chat_messages": [message("m", "human", " ", None)]}
    data = as_json([{"uuid": "c", "chat_messages": [upload]}, blank])
    assert chats(data)[0].messages[0].attachments == ("file",)
    assert skips(data) == [("entry 2", "empty")]


@pytest.mark.parametrize("account", ["acc-1", "acc-2"])
def test_accounts_are_told_apart_across_the_files_of_an_archive(account):
    second = CLAUDE | {"uuid": "c-2", "account": {"uuid": account}}
    archive = zipped({"a/c.json": as_json([CLAUDE]), "b/c.json": as_json([second])})
    if account == "acc-2":
        assert refusal(archive) == "unsupported_format"
    else:
        assert [chat.id for chat in chats(archive)] == ["c-1", "c-2"]


def test_deepseek_is_not_chatgpt_and_follows_the_last_child():
    messages = (
        Message("user", "吃什么？", at(2025, 3, 8, 2, 0, 1), "1", ("menu.pdf",), "deepseek-chat"),
        Message("assistant", "豆浆。", at(2025, 3, 8, 2, 0, 5), "2"),
    )
    begun, ended = at(2025, 3, 8, 2, 0, 0, 505_000), at(2025, 3, 8, 2, 5)
    expected = Conversation("deepseek", "d-1", "早餐", messages, begun, ended)
    assert records(as_json([samples.DEEPSEEK])) == [expected]


def test_copilots_rows_are_reversed_and_not_sorted():
    (chat,) = records(samples.COPILOT)
    assert turns(chat) == [
        ("user", "Only cells over 10?"),
        ("assistant", 'Use `SUMIF`.\n\nThen "Enter".'),
        ("user", "Sure?"),
        ("assistant", "Yes."),
    ]
    assert (chat.title, chat.time_zone_assumed) == ("Excel help", True)
    assert chat.created_at == at(2026, 7, 27, 10, 5)


def test_a_copilot_answer_beyond_the_csv_modules_default_is_read():
    long = "word " * 40_000
    data = samples.COPILOT + f"Other,2026-07-26T10:05:00,AI,{long}\r\n".encode()
    assert chats(data)[1].messages[0].text == long


def test_groks_layout_is_read_inside_nested_folders():
    data = as_json(samples.GROK)
    archive = zipped({
        "ttl/30d/export_data/0a/prod-grok-backend.json": data,
        "ttl/30d/export_data/0a/prod-mc-auth-mgmt-api.json": b'{"sessions": [{"ip": "1.2.3.4"}]}',
        "ttl/30d/export_data/0a/prod-mc-asset-server/1/content": b"\xff\xd8",
    })  # fmt: skip
    messages = (
        Message("user", "How far?", at(2025, 1, 15, 10, 10), "r1", (), "grok-3"),
        Message("assistant", "8.6 light-years.", at(2025, 1, 15, 10, 10, 3, 250_000), "r2"),
    )
    begun, ended = at(2025, 1, 15, 10, 9, 59), at(2025, 1, 15, 10, 10, 5)
    expected = [Conversation("grok", "g-1", "Stars", messages, begun, ended)]
    assert records(archive) == records(data) == expected


def test_le_chats_messages_are_sorted_by_time():
    (chat,) = records(as_json(samples.LECHAT))
    assert chat.id == "c-1"
    assert turns(chat) == [("user", "Que vois-tu ?"), ("assistant", "Un chat.")]
    assert chat.messages[0].attachments == ("photo.png",)


def test_le_chats_archive_has_one_file_a_chat():
    first = samples.LECHAT
    second = [message | {"chatId": "c-2"} for message in first]
    archive = zipped({"chat-1.json": as_json(first), "chat-2.json": as_json([*second, 5])})
    assert [chat.id for chat in chats(archive)] == ["c-1", "c-2"]
    assert skips(archive) == [("chat-2.json: entry 3", "junk")]


def test_sharegpt_keeps_html_as_it_is():
    (chat,) = chats(as_json([samples.SHAREGPT]))
    assert turns(chat) == [("user", "Hi"), ("assistant", "<p>Hello</p>")]


def test_wildchat_takes_the_rows_time_where_a_turn_has_none():
    (chat,) = chats(as_lines(samples.WILDCHAT))
    assert chat.id == "0a1b"
    assert turns(chat) == [("user", "Hi"), ("assistant", "Hello")]
    assert [m.at.second for m in chat.messages] == [6, 7]
    assert [m.model for m in chat.messages] == ["", "gpt-4-1106-preview"]
    assert "0bad" not in repr(chat)
    assert "secret" not in repr(chat)


def test_wildchats_first_release_has_another_id():
    row = samples.WILDCHAT | {"conversation_id": "first", "conversation_hash": None}
    assert chats(as_lines(row))[0].id == "first"


def test_lmsys_keeps_its_marks_for_names():
    (chat,) = chats(as_lines(samples.LMSYS))
    assert (chat.provider, chat.id) == ("lmsys", "l-1")
    assert turns(chat) == [("user", "I am NAME_1"), ("assistant", "Hello NAME_1")]


def test_a_table_of_queries_is_read():
    *read, left_out, last = records(samples.QUERIES)
    assert [*read, last] == [
        Search("queries", 'two lines:\nfirst, "second"', at(2025, 3, 1, 10, 5)),
        Search("queries", "epoch seconds", at(2025, 3, 1, 10, 5)),
        Search("queries", "undated"),
        Search("queries", "=1+1", at(2025, 3, 1, 10, 5, 2)),
    ]
    assert (left_out.where, left_out.code) == ("line 6", "junk")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_separators_and_line_endings_are_told_by_the_file(separator, ending):
    lines = [("Search", "DATE"), ("tea", "2026-01-01"), ("", ""), ("coffee", "2026-01-02T10:00Z")]
    data = "".join(separator.join(line) + ending for line in lines).encode()
    assert [r for r in records(data) if isinstance(r, Search)] == [
        Search("queries", "tea", at(2026, 1, 1), time_zone_assumed=True),
        Search("queries", "coffee", at(2026, 1, 2, 10)),
    ]


def test_a_table_that_is_not_utf8_is_read_as_western_and_says_so():
    data = "date,query\n2026-01-01,Grüße\n".encode("cp1252")
    assert records(data)[0].text == "Grüße"
    assert skips(data) == [("the file", "fallback_encoding")]


def test_quotes_that_never_close_do_not_take_the_file_into_memory():
    assert refusal(b"date,query\n" + b'"x\n",' * 1_000_000) == "too_large"
