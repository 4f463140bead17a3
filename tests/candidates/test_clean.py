import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.candidates.clean import (
    HOLDING,
    REASONS,
    check_answer,
    clean,
    count_words,
    identity,
    other_language,
    outlier,
    tagged,
    third_person,
)
from tests.candidates.conftest import unhurried


@pytest.mark.parametrize(
    ("raw", "text", "urls"),
    [
        ("<think>plan</think>Walk.", "Walk.", []),
        ("<Thinking>a<think>b</think>c</Thinking>\n\nWalk.", "Walk.", []),
        ("plan without a start</think>Walk.", "Walk.", []),
        ("Walk.<think>never closed", "Walk.", []),
        ("<think>never closed: all of it", "", []),
        ("Walk [1], rest [2, 3] and sleep【4†source】.", "Walk, rest and sleep.", []),
        ("Walk[^1] far[10-12].", "Walk far.", []),
        ("Use `a[1]`:\n```\nb[2]\n```", "Use `a[1]`:\n```\nb[2]\n```", []),
        ("[ ] to do, [x] done, [2024]", "[ ] to do, [x] done, [2024]", []),
        (
            "See [the map](https://a.example/m_(x)) now.",
            "See the map now.",
            ["https://a.example/m_(x)"],
        ),
        ("See https://a.example/b, then go.", "See , then go.", ["https://a.example/b"]),
        ("See (https://a.example).", "See.", ["https://a.example"]),
        ("请看https://a.example/中，然后走。", "请看，然后走。", ["https://a.example/中"]),
        (
            "Go.\n\n1. https://a.example\n2. <https://b.example>",
            "Go.",
            ["https://a.example", "https://b.example"],
        ),
        ('Go [1].\n\n[1]: https://a.example "A"', "Go.", ["https://a.example"]),
        (
            "![a dog](https://a.example/d.png) Woof https://a.example/d.png",
            "a dog Woof",
            ["https://a.example/d.png"],
        ),
        ("Nul\x00 and \ud800.", "Nul and \ufffd.", []),
        ("  \n ", "", []),
    ],
)
def test_thoughts_citations_and_urls_leave_the_text(raw, text, urls):
    cleaned = clean(raw)
    assert (cleaned.text, list(cleaned.urls)) == (text, urls)


SIGNS = """
<think> </think> <THINKING> </thinking> [1] [2,3] 【1】 [^1] https://a.example ht tps://
www.c.example
http://b.example/x?y=(z) ` ``` ( ) [ ] < > " ， 中 한 - 1. \x00
"""
pieces = st.sampled_from([*SIGNS.split(), " ", "\n"])


@unhurried
@given(st.lists(pieces | st.text(max_size=3), max_size=25).map("".join))
def test_no_thought_and_no_url_is_ever_left(raw):
    cleaned = clean(raw)
    low = cleaned.text.lower()
    assert "<think" not in low
    assert "</think" not in low
    assert "https://a" not in low
    assert "http://b" not in low
    assert "\x00" not in low
    assert all(url.startswith(("https://", "http://", "www.")) for url in cleaned.urls)


@unhurried
@given(st.text(alphabet="abc ,.\n가中", max_size=60))
def test_a_text_without_any_of_it_stays_as_it_is(raw):
    assert clean(raw).text == "\n".join(raw.split("\n")).strip() or "\n\n\n" in raw


def test_hostile_shapes_cost_linear_time():
    for shape in ("<think>", "[", "[1", "](", "`", "```", "https://", "(", "【1", "</think>"):
        hostile = shape * 20_000
        assert len(clean(hostile).text) <= len(hostile)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("I am ChatGPT, made by OpenAI.", ["chatgpt", "openai"]),
        ("As an AI language model I cannot walk.", ["as an ai language model"]),
        ("作为一个人工智能，我不能走路。", ["作为一个人工智能"]),
        ("I'm Claude and happy to help.", ["i'm claude"]),
        ("Llama 3.1 runs here.", ["llama 3.1"]),
        ("Claude Monet painted a llama under the mistral, a Gemini by birth.", []),
        ("Take a walk by the river.", []),
    ],
)
def test_an_answer_that_names_its_model_is_noticed(text, found):
    assert identity(text) == found


def test_words_are_counted_in_every_script():
    assert count_words("Two words, 两个字 and 한국") == 3 + 3 + 2


def test_what_stands_in_tags_is_taken_out():
    assert tagged("Why: x.\n<improved>\nBetter.\n</improved>", "improved") == "Better."
    assert tagged("No tags.", "improved") == ""
    thought = "<think><better>a draft</better></think><better>Go [1].</better>"
    assert clean(thought, "better").text == "Go."


QUESTION = "Where shall I walk on a quiet Sunday morning?"
CALM = "Take the river path before the town wakes up."


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (CALM, []),
        ("", ["empty"]),
        ("As ChatGPT I suggest the river path.", ["identity"]),
        ("Mina would enjoy the river path on Sundays.", ["third-person"]),
        ("The user likes the river path on Sundays.", ["third-person"]),
        ("清晨沿着河边的小路走一走，趁小镇还没有醒来的时候。", ["language"]),
        ("As it says: dislikes crowded places. Walk early.", ["mention"]),
        ("Places to walk. Crowded ones, you dislikes.", []),
    ],
)
def test_what_is_looked_at_before_people_see_an_answer(text, codes):
    found = check_answer(
        text, question=QUESTION, name="Mina Park", attributes=["Dislikes crowded places"]
    )
    assert found == codes
    assert "mention" not in HOLDING | set(REASONS)


GERMAN = (
    "Nimm den Weg am Fluss entlang, bevor die Stadt erwacht. Hinter der alten Mühle beginnt ein "
    "schmaler Pfad durch die Wiesen, der auch am Wochenende leer ist. Wer mag, kehrt dann im Café "
    "am Markt ein und liest dort die Zeitung."
)
ENGLISH = (
    "Take the path by the river before the town wakes up. Behind the old mill there is a narrow "
    "way through the meadows, which is empty even on a weekend. If you like, go to the café at the "
    "market afterwards and read the paper there."
)


@pytest.mark.parametrize(
    ("text", "question", "language", "differs"),
    [
        (GERMAN, QUESTION, "en", True),
        (GERMAN, "Where is it quiet, and what should I see there?", "", True),
        (GERMAN, "Quiet walks, Sunday morning?", "", False),  # nothing says which language
        (GERMAN, "Wo kann ich sonntags in Ruhe gehen?", "de", False),
        (ENGLISH, "Wo kann ich sonntags in Ruhe gehen?", "de", True),
        (ENGLISH, "Wo kann ich sonntags in Ruhe gehen?", "", False),
        (ENGLISH, QUESTION, "English", False),
        (ENGLISH, "산책?", "ko", True),  # too short a question for its script to count
        (GERMAN.partition(".")[0], QUESTION, "en", False),  # too short to tell
        ("x = " + " + ".join(f"n{n}" for n in range(40)), QUESTION, "de", False),
    ],
)
def test_an_answer_is_in_another_language_by_script_or_by_its_english_words(
    text, question, language, differs
):
    assert other_language(text, question, language) is differs


def test_what_the_question_names_itself_is_no_third_person():
    assert not third_person("Mina likes tea.", "What does Mina like?", "Mina Park")


def test_lengths_are_compared_with_enough_others():
    assert not outlier(500, [50, 60, 55])
    assert outlier(500, [50, 60, 55, 52])
    assert outlier(10, [50, 60, 55, 52])
    assert not outlier(200, [50, 50, 50, 50])
