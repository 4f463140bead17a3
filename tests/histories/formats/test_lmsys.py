"""LMSYS-Chat and its battles."""

from . import samples
from .samples import as_lines, chats, turns


def test_lmsys_keeps_its_marks_for_names():
    (chat,) = chats(as_lines(samples.LMSYS))
    assert (chat.provider, chat.id) == ("lmsys", "l-1")
    assert turns(chat) == [("user", "I am NAME_1"), ("assistant", "Hello NAME_1")]


def test_a_battle_is_two_conversations():
    one, two = chats(as_lines(samples.ARENA))
    assert [one.id, two.id] == ["q-1-a", "q-1-b"]
    assert [one.messages[1].model, two.messages[1].model] == ["koala", "alpaca"]
