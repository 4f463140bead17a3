"""Research corpora, OpenAI's messages, and tables of queries."""

from datetime import UTC, datetime

import pytest

from annotation.histories.records import Search

from . import samples
from .samples import as_json, as_lines, chats, records, refusal, skips, turns


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


def test_sharegpt_keeps_html_as_it_is():
    (chat,) = chats(as_json([samples.SHAREGPT]))
    assert turns(chat) == [("user", "Hi"), ("assistant", "<p>Hello</p>")]


def test_the_elements_of_sharegpt_90k_are_pairs():
    (chat,) = chats(as_lines(samples.PAIRS))
    assert turns(chat) == [
        ("user", "你好"), ("assistant", "您好"), ("user", "Bye"), ("assistant", "Bye!"),
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [(samples.OASST,), samples.OASST_MESSAGES])
def test_openassistants_path_is_the_best_ranked_that_is_not_deleted(rows):
    (chat,) = chats(as_lines(*rows))
    assert (chat.id, turns(chat)) == ("t", [("user", "Why?"), ("assistant", "Second")])


def test_openassistants_threads_are_read():
    (chat,) = chats(as_lines(samples.OASST_THREAD))
    assert (chat.id, turns(chat)) == ("th", [("user", "Why?"), ("assistant", "So.")])


def test_prism_keeps_the_chosen_answers():
    (chat,) = chats(as_lines(samples.PRISM))
    assert turns(chat) == [("user", "Hi"), ("assistant", "B")]
    assert chat.messages[1].model == "m2"


def test_helpsteers_prompt_may_hold_turns():
    (chat,) = chats(as_lines(samples.HELPSTEER))
    assert turns(chat) == [
        ("user", "One"), ("assistant", "Two"), ("user", "Three"), ("assistant", "Four"),
    ]  # fmt: skip


def test_messages_leave_out_tools_and_keep_no_picture():
    first, second = chats(as_lines(*samples.MESSAGES))
    assert turns(first) == [("user", "Hi"), ("assistant", "Hello")]
    assert turns(second) == [("user", "Look")]
    assert second.messages[0].attachments == ("image_url",)
    assert "data:" not in repr(second)
    assert chats(as_json(list(samples.MESSAGES))) == [first, second]
    assert chats(as_json(samples.MESSAGES[0])) == [first]


def test_ai_studios_thoughts_are_no_messages():
    (chat,) = chats(as_json(samples.AISTUDIO))
    assert turns(chat) == [("user", "Hi"), ("assistant", "Hello")]


def test_a_table_of_queries_is_read():
    assert records(samples.QUERIES)[:3] == [
        Search("queries", 'two lines:\nfirst, "second"', datetime(2025, 3, 1, 10, 5, tzinfo=UTC)),
        Search("queries", "epoch seconds", datetime(2025, 3, 1, 10, 5, tzinfo=UTC)),
        Search("queries", "undated"),
    ]
    assert records(samples.QUERIES)[4] == Search(
        "queries", "=1+1", datetime(2025, 3, 1, 10, 5, 2, tzinfo=UTC)
    )
    assert skips(samples.QUERIES) == [("line 6", "junk")]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_separators_and_line_endings_are_told_by_the_file(separator, ending):
    lines = [("Search", "DATE"), ("tea", "2026-01-01"), ("", ""), ("coffee", "2026-01-02T10:00Z")]
    data = "".join(separator.join(line) + ending for line in lines).encode()
    time = datetime(2026, 1, 1, tzinfo=UTC)
    assert [r for r in records(data) if isinstance(r, Search)] == [
        Search("queries", "tea", time, time_zone_assumed=True),
        Search("queries", "coffee", datetime(2026, 1, 2, 10, tzinfo=UTC)),
    ]


def test_a_table_that_is_not_utf8_is_read_as_western_and_says_so():
    data = "date,query\n2026-01-01,Grüße\n".encode("cp1252")
    assert records(data)[0].text == "Grüße"
    assert skips(data) == [("the file", "fallback_encoding")]


def test_json_that_is_not_utf8_has_its_letters_replaced_and_says_so():
    data = as_lines(samples.LMSYS).replace(b"Hello", b"Gr\xfc\xdfe")
    assert chats(data)[0].messages[1].text == "Gr\ufffd\ufffde NAME_1"
    assert skips(data) == [("the file", "encoding")]


def test_quotes_that_never_close_do_not_take_the_file_into_memory():
    assert refusal(b"date,query\n" + b'"x\n",' * 1_000_000) == "too_large"
