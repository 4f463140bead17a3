"""Any table of queries: a column of times and one of texts, named in its header."""

from collections.abc import Iterator

from annotation.histories import texts, times
from annotation.histories.formats.streams import Table
from annotation.histories.records import Record, Search, skipped

_TIME, _TEXT = ("timestamp", "time", "date"), ("query", "search", "text")


def detect_queries(header: list[str]) -> str:
    """The name "queries" for a header that names both columns."""
    return "queries" if _column(header, _TIME) and _column(header, _TEXT) else ""


def read_queries(table: Table) -> Iterator[Record]:
    """A search a row; rows without a time are kept undated."""
    time, text = _column(table.header, _TIME), _column(table.header, _TEXT)
    for entry in table.rows():
        query = texts.clean(entry.value.get(text, ""))
        if query.strip():
            moment = times.moment(entry.value.get(time, ""))
            yield Search("queries", query, moment.at, moment.assumed)
        else:
            yield skipped(entry.where, "junk")


def _column(header: list[str], titles: tuple[str, ...]) -> str:
    return next((name for name in titles if name in header), "")
