"""HelpSteer's prompts."""

from . import samples
from .samples import as_lines, chats, turns


def test_helpsteers_prompt_may_hold_turns():
    (chat,) = chats(as_lines(samples.HELPSTEER))
    assert turns(chat) == [
        ("user", "One"), ("assistant", "Two"), ("user", "Three"), ("assistant", "Four"),
    ]  # fmt: skip
