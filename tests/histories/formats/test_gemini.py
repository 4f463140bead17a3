"""Gemini out of Takeout: prompts and answers become conversations."""

from datetime import UTC, datetime, timedelta

import pytest

from annotation.histories import texts
from annotation.histories.records import Conversation, Message

from .samples import GEMINI, as_json, cell, chats, page, records, refusal, turns


def at(*parts, hours=0):
    return datetime(*parts, tzinfo=UTC) - timedelta(hours=hours)


def activity(title, **more):
    return {"header": "Search", "title": title, "time": "2026-01-01T00:00:00Z"} | more


def test_prompts_and_answers_become_conversations_oldest_first():
    first, second = at(2026, 3, 4, 6), at(2026, 3, 4, 6, 10)
    (chat,) = records(as_json(GEMINI))
    assert chat == Conversation(
        "gemini",
        chat.id,
        "",
        (
            Message("user", "What to see in Kyoto?", first, attachments=("notes.pdf",)),
            Message("assistant", "See Tofuku-ji & more.\nOne", first),
            Message("user", "And in autumn?", second),
            Message("assistant", "Maples.", second),
        ),
        first,
        second,
        flags=("grouped_by_time",),
    )


def test_a_prompt_with_half_a_pair_is_kept():
    (chat,) = chats(as_json([activity("Prompted a\ud83d\0b", header="Gemini Apps")]))
    assert turns(chat) == [("user", "a\ufffdb")]


def test_a_gap_of_more_than_half_an_hour_begins_a_conversation():
    late = GEMINI[0] | {"time": "2026-03-04T06:30:00Z"}
    assert len(chats(as_json([late, GEMINI[1]]))) == 1
    later = GEMINI[0] | {"time": "2026-03-04T06:30:01Z"}
    assert len(chats(as_json([later, GEMINI[1]]))) == 2


def test_the_chat_that_records_name_holds_them_together():
    address = "https://gemini.google.com/app/abc123def4567890"
    data = [
        GEMINI[0] | {"time": "2026-03-09T00:00:00Z", "titleUrl": address},
        GEMINI[1] | {"details": [{"url": address}]},
    ]
    (chat,) = chats(as_json(data))
    assert (chat.id, chat.flags, len(chat.messages)) == ("abc123def4567890", (), 4)


@pytest.mark.parametrize("header", ["Gemini Apps", "Bard", "Gemini 앱"])
def test_all_names_of_gemini_are_known(header):
    (chat,) = chats(as_json([activity("Asked: Hi", header=header)]))
    assert turns(chat) == [("user", "Hi")]


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
