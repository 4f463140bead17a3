"""PRISM's chosen answers."""

from . import samples
from .samples import as_lines, chats, turns


def test_prism_keeps_the_chosen_answers():
    (chat,) = chats(as_lines(samples.PRISM))
    assert turns(chat) == [("user", "Hi"), ("assistant", "B")]
    assert chat.messages[1].model == "m2"
