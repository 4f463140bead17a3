"""Gemini out of Takeout: prompts and answers become conversations."""

from datetime import UTC, datetime

import pytest

from annotation.histories import texts
from annotation.histories.records import Conversation, Message, Search, Visit

from . import samples
from .samples import (
    GEMINI,
    SEARCH,
    as_json,
    cell,
    chats,
    link,
    page,
    records,
    refusal,
    skips,
    turns,
    zipped,
)


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


def activity(title, **more):
    return {"header": "Search", "title": title, "time": "2026-01-01T00:00:00Z"} | more


def test_prompts_and_answers_become_conversations_oldest_first():
    first, second = at(2026, 3, 4, 6), at(2026, 3, 4, 6, 10)
    messages = (
        Message("user", "What to see in Kyoto?", first, attachments=("notes.pdf",)),
        Message("assistant", "See Tofuku-ji & more.\nOne", first),
        Message("user", "And in autumn?", second),
        Message("assistant", "Maples.", second),
    )
    (chat,) = records(as_json(GEMINI))
    flags = ("grouped_by_time",)
    assert chat == Conversation("gemini", chat.id, "", messages, first, second, flags=flags)


@pytest.mark.parametrize(("time", "count"), [("06:30:00", 1), ("06:30:01", 2)])
def test_a_gap_of_more_than_half_an_hour_begins_a_conversation(time, count):
    late = GEMINI[0] | {"time": f"2026-03-04T{time}Z"}
    assert len(chats(as_json([late, GEMINI[1]]))) == count


def test_the_chat_that_records_name_holds_them_together():
    address = "https://gemini.google.com/app/abc123def4567890"
    data = [
        GEMINI[0] | {"time": "2026-03-09T00:00:00Z", "titleUrl": address},
        GEMINI[1] | {"details": [{"url": address}]},
    ]
    (chat,) = chats(as_json(data))
    assert (chat.id, chat.flags, len(chat.messages)) == ("abc123def4567890", (), 4)


@pytest.mark.parametrize(
    ("title", "prompt", "flags"),
    [
        ("Prompted\xa0Hi", "Hi", ()),
        ("Asked Hi", "Hi", ()),
        ("Live Prompt Hi", "Hi", ()),
        ("Submitted query Hi", "Hi", ()),
        ("Prompt : Hi", "Hi", ()),
        ("Υποβλήθηκε το ερώτημα Hi", "Hi", ()),
        ("Gefragt: Hi", "Gefragt: Hi", ("prefix_kept",)),
    ],
)
def test_a_prompts_verb_is_cut_where_it_is_known(title, prompt, flags):
    (chat,) = chats(as_json([activity(title, header="Gemini Apps")]))
    assert turns(chat) == [("user", prompt)]
    assert chat.flags == ("grouped_by_time", *flags)


@pytest.mark.parametrize(
    "title", ["Used Gemini", "Created Gemini Canvas titled X", "Branched a chat", "Gemini Apps"]
)
def test_what_is_no_prompt_is_left_out(title):
    assert refusal(as_json([activity(title, header="Gemini Apps")])) == "empty_history"


def test_geminis_page_has_the_answer_after_the_time():
    data = page(cell("Gemini Apps", "Prompted&nbsp;Hi", "Mar 4, 2026, 6:00:00 AM UTC",
                     "<p>Hello <b>you</b>.</p><p>Tea?</p>"))  # fmt: skip
    (chat,) = chats(data)
    assert turns(chat) == [("user", "Hi"), ("assistant", "Hello you.\nTea?")]
    assert chat.created_at == at(2026, 3, 4, 6)


def test_an_answers_code_keeps_its_indent_and_its_cells_stand_apart():
    html = (
        "<p>So:</p><pre><code>def f():\n\treturn <b>1</b>  # x\n</code></pre>"
        "<table><tr><td>Gion</td><td>12</td></tr></table>"
    )
    assert texts.plain(html) == "So:\ndef f():\n    return 1  # x\nGion 12"


@pytest.mark.parametrize(
    "product",
    [
        *("Gemini Apps", "Gemini 앱", "Gemini-Apps", "Applications Gemini", "Apps de Gemini"),
        *("Gemini 应用", "Gemini アプリ", "Gemini Uygulamaları", "Приложения Gemini"),
    ],
)
def test_the_product_s_own_name_is_no_prompt_in_any_language(product):
    rows = [
        {"header": product, "title": title, "time": "2026-03-14T12:00:00Z"}
        for title in (product, "Prompted Explain Gemini to me")
    ]
    found = chats(as_json(rows))
    assert [message.text for one in found for message in one.messages] == ["Explain Gemini to me"]


def test_ai_studios_thoughts_are_no_messages():
    (chat,) = chats(as_json(samples.AISTUDIO))
    assert turns(chat) == [("user", "Hi"), ("assistant", "Hello")]


def test_searches_and_visits_are_told_apart():
    assert records(as_json(SEARCH)) == [
        Search("google_search", "best ramen", at(2026, 8, 16, 15, 42, 7, 123_000)),
        Visit("google_search", "Example", at(2026, 8, 16, 15, 41)),
    ]


def test_videos_are_visits_and_advertisements_are_nothing():
    assert records(as_json(samples.YOUTUBE)) == [
        Visit("youtube", "고양이", at(2026, 8, 15, 1)),
        Search("youtube", "katzen", at(2026, 8, 15, 0, 58)),
    ]


@pytest.mark.parametrize(
    ("title", "kind", "text"),
    [
        ("Searched for ramen", Search, "ramen"),
        ("Searched for\xa0ramen", Search, "ramen"),
        ("Gesucht nach: Suppe", Search, "Suppe"),
        ("라면 을(를) 검색했습니다.", Search, "라면"),
        ("Visited Soup", Visit, "Soup"),
        ("Suppe aufgerufen", Visit, "Suppe"),
        ("Suppe angesehen", Visit, "Suppe"),
        ("Besucht: Suppe", Visit, "Suppe"),
        ("라면 을(를) 방문했습니다.", Visit, "라면"),
    ],
)
def test_verbs_before_and_after_the_title_are_cut(title, kind, text):
    assert records(as_json([activity(title)])) == [kind("google_search", text, at(2026, 1, 1))]


def test_places_are_not_imported():
    place = activity("Viewed Home", titleUrl="https://www.google.com/maps/place/Home")
    assert records(as_json([place, SEARCH[0]])) == records(as_json(SEARCH[:1]))
    assert refusal(as_json([place])) == "empty_history"


def test_a_page_of_records_is_read():
    assert records(samples.SEARCH_PAGE) == [
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
        "Takeout/내 활동/YouTube/내활동.html": samples.SEARCH_PAGE,
        "Takeout/Etkinliğim/Gemini/Etkinliğim.json": as_json(GEMINI),
        "Takeout/Chrome/Verlauf.json": as_json(samples.CHROME),
        "Takeout/Chrome/Bookmarks.html": b"<!DOCTYPE NETSCAPE-Bookmark-file-1>",
    })  # fmt: skip
    found = records(archive)
    assert {record.provider for record in found} == {"google_search", "gemini", "chrome"}
    assert len(found) == 2 + 2 + 1 + 3


def test_chromes_history_gives_queries_and_visits():
    assert records(as_json(samples.CHROME)) == [
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
