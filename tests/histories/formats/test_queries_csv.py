"""Tables of queries, whatever their separators and letters."""

from datetime import UTC, datetime

import pytest

from annotation.histories.records import Search

from . import samples
from .samples import records, refusal, skips


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
