"""What the judging page's scripts compute, function by function, on a page without a server."""

import difflib
from pathlib import Path

import pytest
from django.conf import settings
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st

SCRIPT = Path(settings.BASE_DIR) / "static/js/judge-pure.js"


@pytest.fixture(scope="module")
def call(browser):
    """A function that calls one of the script's functions with JSON values."""
    page = browser.new_page()
    page.add_script_tag(path=SCRIPT)
    yield lambda name, *values: page.evaluate(
        "([name, values]) => JudgePure[name](...values)", [name, values]
    )
    page.close()


def test_an_answer_is_every_field_but_the_technical_ones_with_all_its_values(call):
    pairs = [["slot", "s-1"], ["chips", "kind"], ["reason", "Short."], ["chips", "short"]]
    assert call("answered", pairs) == {"chips": ["kind", "short"], "reason": ["Short."]}
    assert call("answered", [["key", "k"], ["csrfmiddlewaretoken", "t"], ["seconds", "3"]]) == {}


def test_an_answer_without_a_line_is_sent_again_ever_later_up_to_a_minute(call):
    waits = [call("patience", tries) for tries in (1, 2, 6, 7, 40)]
    assert waits == [1_000, 2_000, 32_000, 60_000, 60_000]


@pytest.mark.parametrize(
    ("ticks", "drafted", "restored"),
    [(True, True, False), (True, False, True), (False, True, True), (False, False, True)],
)
def test_typed_text_is_restored_and_ticks_only_where_the_server_has_no_draft(
    call, ticks, drafted, restored
):
    copy = {"data": {"choice": ["a"]}, "ticks": ticks}
    text = f'{{"data": {{"choice": ["a"]}}, "ticks": {str(ticks).lower()}}}'
    assert call("newest", text, drafted) == (copy if restored else None)


def test_words_come_with_their_places_in_every_language(call):
    assert call("wordsOf", "Her Ferns, 2!") == [
        {"text": "her", "at": 0, "length": 3},
        {"text": "ferns", "at": 4, "length": 5},
        {"text": "2", "at": 11, "length": 1},
    ]
    assert "".join(word["text"] for word in call("wordsOf", "我喜欢喝茶。")) == "我喜欢喝茶"


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("cycle", "cycles", True),
        ("cat", "cats", False),
        ("학교", "학교에서", True),
        ("茶", "茶叶", False),
        ("tea", "tea", True),
    ],
)
def test_words_are_alike_where_one_begins_with_the_other(call, a, b, same):
    assert call("alike", a, b) is same and call("alike", b, a) is same


def test_common_and_short_words_of_a_trait_tell_nothing(call):
    assert call("telling", "She likes to grow ferns at home, 喝茶 too") == [
        "grow",
        "ferns",
        "home",
        "喝茶",
        "too",
    ]


def test_differences_name_what_is_kept_removed_and_added(call):
    assert call("differences", ["a", " ", "b"], ["a", " ", "c"]) == [
        ["=", "a "],
        ["-", "b"],
        ["+", "c"],
    ]
    assert call("differences", ["a"], ["a"]) == [["=", "a"]]
    assert call("differences", [], []) == []
    assert call("differences", [], ["x", "y"]) == [["+", "xy"]]


def test_texts_that_differ_in_too_much_are_not_compared(call):
    assert call("differences", ["a"] * 1_001, ["b"] * 1_000) is None
    assert call("differences", ["a"] * 1_000, ["b"] * 1_000) == [
        ["-", "a" * 1000],
        ["+", "b" * 1000],
    ]


words = st.lists(st.sampled_from("abc"), max_size=12)


@effort(max_examples=60)
@given(a=words, b=words)
def test_differences_give_both_texts_again_and_no_shorter_script_is_known(call, a, b):
    script = call("differences", a, b)
    assert "".join(text for sign, text in script if sign != "+") == "".join(a)
    assert "".join(text for sign, text in script if sign != "-") == "".join(b)
    changed = sum(len(text) for sign, text in script if sign != "=")
    matched = difflib.SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    assert changed <= len(a) + len(b) - 2 * sum(block.size for block in matched)


@effort(max_examples=60)
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=12), data=st.data())
def test_marks_count_characters_where_the_browser_counts_units(call, text, data):
    count = data.draw(st.integers(0, len(text)))
    units = len(text[:count].encode("utf-16-le")) // 2
    assert call("units", text, count) == units
    assert call("points", text, units) == count
