"""ChatGPT's conversations.json, its shards and its page."""

from datetime import UTC, datetime

from annotation.histories.records import Conversation, Message

from . import samples
from .samples import (
    CHAT_HTML,
    CHATGPT,
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

ASKED = datetime(2025, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC)
ANSWERED = datetime(2025, 1, 1, 10, 0, 5, 250_000, tzinfo=UTC)


def test_the_published_layout_is_read():
    assert records(as_json([CHATGPT])) == [
        Conversation(
            "chatgpt",
            "c-1",
            "Trip",
            (
                Message("user", "What is this?", ASKED, "m-n2", ("cat.png",)),
                Message("assistant", "A cat.", ANSWERED, "m-n3", (), "gpt-4o"),
            ),
            ASKED,
            ANSWERED,
        )
    ]


def test_wrapped_lone_and_paged_conversations_are_the_same():
    expected = records(as_json([CHATGPT]))
    assert records(as_json({"conversations": [CHATGPT]})) == expected
    assert records(as_json(CHATGPT)) == expected
    assert records(CHAT_HTML) == expected


def test_shards_are_read_and_the_page_beside_them_is_not():
    second = CHATGPT | {"id": "c-2", "conversation_id": None}
    archive = zipped({
        "conversations-000.json": as_json([CHATGPT]),
        "conversations-001.json": as_json([second]),
        "chat.html": CHAT_HTML,
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
