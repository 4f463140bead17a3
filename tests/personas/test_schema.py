import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.personas import schema

PROFILE = {
    "Name": "Mina Park",
    "Demographics": {"Age": 34, "Gender": "", "Language": ["Korean", "English"], "Shoe": 38},
    "Personality": {"Thinking_or_Feeling": "T", "Judging_or_Perceiving": "Judging"},
    "Preference": {"Social": {"Team": "small"}, "Travel": {"Leisure_Travel": "slow\ntrains"}},
    "Pets": ["a cat"],
}


def browser(values):
    """What a browser sends back for these words."""
    return {name: words.replace("\n", "\r\n") + " " for name, words in values.items()}


def test_the_schema_is_guided_and_the_rest_is_kept():
    values, rest = schema.split(PROFILE)
    assert values == {
        "name": "Mina Park",
        "age": "34",
        "gender": "",
        "language": "Korean\nEnglish",
        "thinking": "T",
        "leisure": "slow\ntrains",
    }
    assert rest == {
        "Demographics": {"Shoe": 38},
        "Personality": {"Judging_or_Perceiving": "Judging"},
        "Preference": {"Social": {"Team": "small"}},
        "Pets": ["a cat"],
    }


def test_a_change_touches_its_own_place_only():
    values, rest = schema.split(PROFILE)
    changed = browser(values) | {"age": "35", "language": "Korean\r\n\r\n 日本語 "}
    profile = schema.merged(PROFILE, changed, rest)
    expected = {**PROFILE["Demographics"], "Age": "35", "Language": ["Korean", "日本語"]}
    assert profile == PROFILE | {"Demographics": expected}


def test_an_emptied_field_leaves_the_profile():
    values, rest = schema.split({"Name": "Jo", "Preference": {"Social": "few"}})
    assert schema.merged({}, values | {"social": ""}, rest) == {"Name": "Jo"}


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"Demographics": "none"}, "“Demographics” must be an object"),
        ({"Demographics": {"Age": 3}}, "“Age” is given twice"),
    ],
)
def test_two_words_for_one_place_are_refused(rest, words):
    with pytest.raises(ValueError, match=words):
        schema.merged({}, {"age": "34"}, rest)


def test_a_profile_is_shown_in_the_order_of_the_schema():
    mixed = {"Pets": 1, "Preference": {}, "Demographics": {"Gender": "f", "Age": 3}, "Name": "Jo"}
    shown = schema.ordered(mixed)
    assert list(shown) == ["Name", "Demographics", "Preference", "Pets"]
    assert list(shown["Demographics"]) == ["Age", "Gender"]


words = st.sampled_from(["", "E", "x", " x ", "two\nlines", "a\r\nb"]) | st.text(max_size=4)
leaves = words | st.integers() | st.booleans() | st.none() | st.lists(words, max_size=2)
keys = st.sampled_from([key for guided in schema.FIELDS for key in guided.path] + ["Other"])
profiles = st.dictionaries(
    keys,
    st.recursive(leaves, lambda inner: st.dictionaries(keys, inner, max_size=4), max_leaves=8),
    max_size=5,
)


@given(profiles)
def test_an_unchanged_form_gives_the_same_profile(profile):
    values, rest = schema.split(profile)
    assert schema.merged(profile, browser(values), rest) == profile
