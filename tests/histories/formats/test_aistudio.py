"""AI Studio's turns."""

from . import samples
from .samples import as_json, chats, turns


def test_ai_studios_thoughts_are_no_messages():
    (chat,) = chats(as_json(samples.AISTUDIO))
    assert turns(chat) == [("user", "Hi"), ("assistant", "Hello")]
