"""Messages as OpenAI's API has them."""

from . import samples
from .samples import as_json, as_lines, chats, turns


def test_messages_leave_out_tools_and_keep_no_picture():
    first, second = chats(as_lines(*samples.MESSAGES))
    assert turns(first) == [("user", "Hi"), ("assistant", "Hello")]
    assert turns(second) == [("user", "Look")]
    assert second.messages[0].attachments == ("image_url",)
    assert "data:" not in repr(second)
    assert chats(as_json(list(samples.MESSAGES))) == [first, second]
    assert chats(as_json(samples.MESSAGES[0])) == [first]
