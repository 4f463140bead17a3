"""Chrome's history: queries and visits."""

from annotation.histories.records import Search, Visit
from tests.histories.formats.test_gemini import at

from .samples import CHROME, as_json, records


def test_chromes_history_gives_queries_and_visits():
    assert records(as_json(CHROME)) == [
        Search("chrome", "trains", at(2025, 12, 1, 0, 0, 0, 123_456)),
        Visit("chrome", "Trains", at(2025, 12, 1, 0, 1, 40)),
        Visit("chrome", "https://example.org/"),
    ]


def test_a_reloaded_or_later_page_of_results_is_no_new_query():
    url = "https://www.google.com/search?q=trains"
    data = {"Browser History": [
        {"url": url, "time_usec": 1},
        {"url": url, "time_usec": 1, "page_transition": "RELOAD"},
        {"url": url + "&start=10", "time_usec": 1, "title": "trains - Google"},
    ]}  # fmt: skip
    kinds = [type(record) for record in records(as_json(data))]
    assert kinds == [Search, Visit]
