"""Lists of a study by one component: searched, sorted, in pages by key, exported as listed."""

import csv
import io

import pytest

from annotation.core.pages import Listing
from annotation.personas.curate import save_profile
from annotation.queries.models import Query

PAGES = ("queries", "personas", "candidates", "people")
# What is searched for on each page, and the first cell of its row in the file.
FOUND = {"queries": ("RAIN", "q2"), "personas": ("p2", "p2"), "candidates": ("to q2", "q2-0"),
         "people": ("bo@", "Bo")}  # fmt: skip


@pytest.fixture
def filled(cast, tea):
    for n in (1, 2, 3):
        save_profile(tea, f"p{n}", {"Name": f"Mina {n}"}, by=cast.person("Carol"))
        cast.candidates(cast.query(tea, f"q{n}"), 1)
    Query.objects.filter(external_id="q2").update(text="Where to go in rain?")
    cast.member("Bo", tea, "annotator")
    return tea


@pytest.fixture
def dora(cast, tea, login):
    return login(cast.member("Dora", tea, "administrator"))


def read(client, page, **asked):
    """The rows of a page, and its file's first column."""
    address = f"/studies/tea/{page}/"
    body = client.get(address, {**asked, "format": "csv"})
    rows = list(csv.reader(io.StringIO(b"".join(body.streaming_content).decode())))
    return client.get(address, asked).context["page"], [row[0] for row in rows[1:]]


@pytest.mark.parametrize("page", PAGES)
def test_what_is_searched_for_is_listed_and_exported(filled, dora, page):
    words, first = FOUND[page]
    shown, exported = read(dora, page, q=words)
    assert (len(shown.rows), exported) == (1, [first])
    empty, none = read(dora, page, q="nothing of that")
    assert (empty.rows, none) == ([], [])


@pytest.mark.parametrize("page", PAGES)
def test_pages_together_are_what_is_exported(filled, dora, page, monkeypatch):
    whole, exported = read(dora, page)
    answer = Listing.page
    monkeypatch.setattr(Listing, "page", lambda self, *args: answer(self, *args[:4], size=2))
    seen, after = [], ""
    while True:
        part, every = read(dora, page, after=after)
        seen += [row.pk for row in part.rows]
        after = part.after
        if not after:
            break
    assert seen == [row.pk for row in whole.rows]
    assert every == exported
    assert len(exported) == len(seen) > 2


def test_the_newest_come_first_where_that_is_asked_for(filled, dora):
    _page, exported = read(dora, "queries", sort="newest")
    assert exported == ["q3", "q2", "q1"]
    assert dora.get("/studies/tea/queries/", {"sort": "best"}).status_code == 400


def test_studies_are_listed_with_what_one_may_know_of_each(filled, cast, login, dora):
    cast.members(cast.study("dew"), {"Dora": "annotator"})
    cast.study("fern")
    rows = listed(dora)
    assert [(row["study"], row["role"], row["people"]) for row in rows] == [
        ("tea", "administrator", "3"),
        ("dew", "annotator", ""),
    ]
    shown = dora.get("/studies/").text
    assert 'href="/studies/tea/overview/"' in shown and 'href="/studies/dew/judge/"' in shown
    for asked in ({"q": "DEW"}, {"role": "annotator"}, {"sort": "newest", "q": "dew"}):
        assert [row["study"] for row in listed(dora, **asked)] == ["dew"]
    assert listed(dora, status="closed") == []
    assert [row["study"] for row in listed(dora, sort="newest")] == ["dew", "tea"]
    everywhere = login(cast.person("Ada", is_superuser=True))
    assert {row["study"] for row in listed(everywhere)} == {"tea", "dew", "fern"}


def listed(client, **asked) -> list[dict]:
    body = client.get("/studies/", {**asked, "format": "csv"})
    lines = b"".join(body.streaming_content).decode()
    shown = client.get("/studies/", asked).context["page"]
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert [study.slug for study in shown] == [row["study"] for row in rows]
    return rows
