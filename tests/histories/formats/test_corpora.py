"""HelpSteer's prompts."""

import pytest

from . import samples
from .samples import as_json, as_lines, chats, turns


def test_helpsteers_prompt_may_hold_turns():
    (chat,) = chats(as_lines(samples.HELPSTEER))
    assert turns(chat) == [
        ("user", "One"), ("assistant", "Two"), ("user", "Three"), ("assistant", "Four"),
    ]  # fmt: skip


def test_prism_keeps_the_chosen_answers():
    (chat,) = chats(as_lines(samples.PRISM))
    assert turns(chat) == [("user", "Hi"), ("assistant", "B")]
    assert chat.messages[1].model == "m2"


def test_sharegpt_keeps_html_as_it_is():
    (chat,) = chats(as_json([samples.SHAREGPT]))
    assert turns(chat) == [("user", "Hi"), ("assistant", "<p>Hello</p>")]


def test_the_elements_of_sharegpt_90k_are_pairs():
    (chat,) = chats(as_lines(samples.PAIRS))
    assert turns(chat) == [
        ("user", "你好"), ("assistant", "您好"), ("user", "Bye"), ("assistant", "Bye!"),
    ]  # fmt: skip


def test_wildchat_takes_the_rows_time_where_a_turn_has_none():
    (chat,) = chats(as_lines(samples.WILDCHAT))
    assert chat.id == "0a1b"
    assert turns(chat) == [("user", "Hi"), ("assistant", "Hello")]
    assert [m.at.second for m in chat.messages] == [6, 7]
    assert [m.model for m in chat.messages] == ["", "gpt-4-1106-preview"]
    assert "0bad" not in repr(chat)
    assert "secret" not in repr(chat)


def test_wildchats_first_release_has_another_id():
    row = {**samples.WILDCHAT, "conversation_id": "first"}
    del row["conversation_hash"]
    assert chats(as_lines(row))[0].id == "first"


def test_lmsys_keeps_its_marks_for_names():
    (chat,) = chats(as_lines(samples.LMSYS))
    assert (chat.provider, chat.id) == ("lmsys", "l-1")
    assert turns(chat) == [("user", "I am NAME_1"), ("assistant", "Hello NAME_1")]


def test_a_battle_is_two_conversations():
    one, two = chats(as_lines(samples.ARENA))
    assert [one.id, two.id] == ["q-1-a", "q-1-b"]
    assert [one.messages[1].model, two.messages[1].model] == ["koala", "alpaca"]


@pytest.mark.parametrize("rows", [(samples.OASST,), samples.OASST_MESSAGES])
def test_openassistants_path_is_the_best_ranked_that_is_not_deleted(rows):
    (chat,) = chats(as_lines(*rows))
    assert (chat.id, turns(chat)) == ("t", [("user", "Why?"), ("assistant", "Second")])


def test_openassistants_threads_are_read():
    (chat,) = chats(as_lines(samples.OASST_THREAD))
    assert (chat.id, turns(chat)) == ("th", [("user", "Why?"), ("assistant", "So.")])
