"""Search and YouTube out of Takeout, as JSON and as pages."""

import pytest

from annotation.histories.records import Search, Visit
from tests.histories.formats.test_gemini import activity, at

from .samples import (
    CHROME,
    GEMINI,
    SEARCH,
    SEARCH_PAGE,
    YOUTUBE,
    as_json,
    cell,
    link,
    page,
    records,
    refusal,
    skips,
    zipped,
)


def test_searches_and_visits_are_told_apart():
    assert records(as_json(SEARCH)) == [
        Search("google_search", "best ramen", at(2026, 8, 16, 15, 42, 7, 123_000)),
        Visit("google_search", "Example", at(2026, 8, 16, 15, 41)),
    ]


def test_videos_are_visits_and_advertisements_are_nothing():
    assert records(as_json(YOUTUBE)) == [
        Visit("youtube", "고양이", at(2026, 8, 15, 1)),
        Search("youtube", "katzen", at(2026, 8, 15, 0, 58)),
    ]


@pytest.mark.parametrize(
    ("title", "record"),
    [
        ("Searched for ramen", Search("google_search", "ramen")),
        ("Searched for\xa0ramen", Search("google_search", "ramen")),
        ("Gesucht nach: Suppe", Search("google_search", "Suppe")),
        ("라면 을(를) 검색했습니다.", Search("google_search", "라면")),
        ("Visited Soup", Visit("google_search", "Soup")),
        ("Suppe aufgerufen", Visit("google_search", "Suppe")),
        ("Suppe angesehen", Visit("google_search", "Suppe")),
        ("Besucht: Suppe", Visit("google_search", "Suppe")),
        ("라면 을(를) 방문했습니다.", Visit("google_search", "라면")),
    ],
)
def test_verbs_before_and_after_the_title_are_cut(title, record):
    (found,) = records(as_json([activity(title)]))
    assert type(found) is type(record)
    assert (found.provider, found.text) == (record.provider, record.text)


@pytest.mark.parametrize("title", ["Used Search", "1 notification", "12 notifications"])
def test_what_google_says_is_neither_search_nor_visit(title):
    told = activity(title, titleUrl="https://www.google.com/")
    assert refusal(as_json([told])) == "empty_history"


def test_places_are_not_imported():
    place = activity("Viewed Home", titleUrl="https://www.google.com/maps/place/Home")
    assert records(as_json([place, SEARCH[0]])) == records(as_json(SEARCH[:1]))
    assert refusal(as_json([place])) == "empty_history"


def test_youtubes_file_of_2017_is_read():
    old = [{"kind": "youtube#playlistItem",
            "snippet": {"publishedAt": "2017-01-02T03:04:05.000Z", "title": "Cats"}}]  # fmt: skip
    assert records(as_json(old)) == [Visit("youtube", "Cats", at(2017, 1, 2, 3, 4, 5))]


def test_a_page_of_records_is_read():
    assert records(SEARCH_PAGE) == [
        Search("google_search", "ramen", at(2026, 8, 16, 15, 42, 7)),
        Visit("google_search", "Beispiel", at(2026, 8, 27, 18, 4, 54)),
    ]


def test_unclosed_and_empty_cells_of_a_page_do_not_lose_the_others():
    whole = cell("Search", "Searched for&nbsp;" + link("https://www.google.com/search?q=a", "a"),
                 "Jan 31, 2018, 10:54:50 PM")  # fmt: skip
    data = page(whole[: -len("</div></div>")], '<div class="outer-cell"></div>', whole)
    time = at(2018, 1, 31, 22, 54, 50)
    assert [r for r in records(data) if isinstance(r, Search)] == [
        Search("google_search", "a", time, time_zone_assumed=True)
    ] * 2
    assert skips(data) == [("entry 2", "junk")]


def test_a_page_counts_no_advertisement():
    seen = link("https://www.youtube.com/watch?v=x", "Soap")
    lines = (f"Watched&nbsp;{seen}", link("https://y", "Channel"), "15 jun 2026, 20:30:41 CEST")
    advert = cell("YouTube", *lines, caption="<b>Details:</b> From Google Ads")
    shown = advert.replace("From Google Ads", "")
    assert records(page(shown, advert)) == [Visit("youtube", "Soap", at(2026, 6, 15, 18, 30, 41))]


def test_a_whole_takeout_is_read_whatever_its_names_are():
    archive = zipped({
        "Takeout/Archiv_Übersicht.html": b"<html><body>Archiv</body></html>",
        "Takeout/Meine Aktivitäten/Google Suche/MeineAktivitäten.json": as_json(SEARCH),
        "Takeout/내 활동/YouTube/내활동.html": SEARCH_PAGE,
        "Takeout/Etkinliğim/Gemini/Etkinliğim.json": as_json(GEMINI),
        "Takeout/Chrome/Verlauf.json": as_json(CHROME),
        "Takeout/Chrome/Bookmarks.html": b"<!DOCTYPE NETSCAPE-Bookmark-file-1>",
    })  # fmt: skip
    found = records(archive)
    assert {record.provider for record in found} == {"google_search", "gemini", "chrome"}
    assert len(found) == 2 + 2 + 1 + 3
