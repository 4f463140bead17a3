"""ShareGPT's pages and pairs."""

from . import samples
from .samples import as_json, as_lines, chats, turns


def test_sharegpt_keeps_html_as_it_is():
    (chat,) = chats(as_json([samples.SHAREGPT]))
    assert turns(chat) == [("user", "Hi"), ("assistant", "<p>Hello</p>")]


def test_the_elements_of_sharegpt_90k_are_pairs():
    (chat,) = chats(as_lines(samples.PAIRS))
    assert turns(chat) == [
        ("user", "你好"), ("assistant", "您好"), ("user", "Bye"), ("assistant", "Bye!"),
    ]  # fmt: skip
