"""Public collections, and tables of queries whatever their separators and letters."""

from datetime import UTC, datetime

import pytest

from annotation.histories.records import Search

from . import samples
from .samples import as_json, as_lines, chats, records, refusal, skips, turns


def test_sharegpt_keeps_html_as_it_is():
    (chat,) = chats(as_json([samples.SHAREGPT]))
    assert turns(chat) == [("user", "Hi"), ("assistant", "<p>Hello</p>")]


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


def test_quotes_that_never_close_do_not_take_the_file_into_memory():
    assert refusal(b"date,query\n" + b'"x\n",' * 1_000_000) == "too_large"
