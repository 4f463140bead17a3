"""DeepSeek's tree of messages."""

from datetime import UTC, datetime

from annotation.histories.records import Conversation, Message

from .samples import DEEPSEEK, as_json, chats, records, turns


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
