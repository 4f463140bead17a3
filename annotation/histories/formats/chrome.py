"""Chrome's history in Takeout: visits, and the queries that addresses of search pages hold."""

from collections.abc import Iterator

from annotation.histories import texts, times
from annotation.histories.formats.addresses import is_place, typed_query
from annotation.histories.formats.streams import Entry, each
from annotation.histories.records import Record, Search, Visit

_RELOAD = "RELOAD"


def detect(entry: dict) -> str:
    """The name "chrome" for a visit with its time in microseconds."""
    return "chrome" if "time_usec" in entry and isinstance(entry.get("url"), str) else ""


@each(detect)
def read(entry: Entry) -> Iterator[Record]:
    """One visit. Loading a page of results again is not typing again."""
    visit = entry.value
    url, time = visit["url"], times.from_number(visit["time_usec"])
    how = visit.get("page_transition_qualifier"), visit.get("page_transition")
    if is_place(url):
        return
    if query := texts.clean(typed_query(url)).strip():
        if _RELOAD not in how:
            yield Search("chrome", query, *time)
        return
    title = visit.get("title")
    text = texts.clean(title if isinstance(title, str) and title.strip() else url).strip()
    if text:
        yield Visit("chrome", text, *time)
