import json

import pytest
from django.utils.translation import override
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.personas import schema
from annotation.studies.models import Study

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


def test_a_card_keeps_the_order_in_which_its_fields_were_written():
    written = {"Zoo": "yes", "Demographics": {"Gender": "f", "Age": 3}, "Pets": "a cat"}
    card = schema.card(written)
    assert card == [
        ("The person", [("Gender", "f"), ("Age", "3")]),
        ("", [("Zoo", "yes"), ("Pets", "a cat")]),
    ]


def test_a_form_leaves_the_order_of_a_profile_as_it_was():
    written = {"Zoo": "yes", "Demographics": {"Gender": "f", "Shoe": 38, "Age": 3}, "Name": "Jo"}
    values, rest = schema.split(written)
    merged = schema.merged(written, values | {"age": "4", "career": "nurse"}, rest)
    assert list(merged) == ["Zoo", "Demographics", "Name"]
    assert list(merged["Demographics"]) == ["Gender", "Shoe", "Age", "Career_Information"]


TRAITS = {
    "Extraversion_or_Introversion": "E",
    "Sensing_or_Intuition": "S",
    "Thinking_or_Feeling": "F",
    "Judging_or_Perceiving": "J",
}


def test_a_card_shows_preferences_first_and_the_traits_as_words():
    profile = {
        "Name": "Jo",
        "Demographics": {"Age": 34, "Gender": "", "Language": ["Korean", "English"], "Shoe": 38},
        "Personality": {**TRAITS, "Values_and_Interests": ["calm", "birds"]},
        "Preference": {"Local_Life": {"Food_Drinks": "rye toast"}, "Sleep": {"From": 22}},
        "Pets": ["a cat"],
    }
    assert schema.card(profile) == [
        ("Preferences", [("Food and drinks", "rye toast"), ("Sleep", {"From": 22})]),
        ("The person", [("Age", "34"), ("Languages", "Korean · English"), ("Shoe", 38)]),
        (
            "Personality",
            [
                ("Character", "Extraverted, sensing, feeling, judging"),
                ("Values and interests", "calm · birds"),
            ],
        ),
        ("", [("Pets", ["a cat"])]),
    ]


@pytest.mark.parametrize(
    ("language", "heading", "words"),
    [("zh-hans", "性格特点", "外向，实感，情感，判断"), ("ko", "성향", "외향, 감각, 감정, 판단")],
)
def test_a_card_is_in_the_readers_language(language, heading, words):
    with override(language):
        [(_, rows)] = schema.card({"Personality": TRAITS})
        assert [(str(label), value) for label, value in rows] == [(heading, words)]


def test_a_study_may_begin_the_card_with_another_group():
    profile = {
        "Demographics": {"Age": 34},
        "Preference": {"Social": "alone"},
        "Personality": TRAITS,
    }
    assert [title for title, _ in schema.card(profile, "personality")] == [
        "Personality",
        "Preferences",
        "The person",
    ]
    assert set(schema.CARD_GROUPS) == {name for name, _ in Study.CardGroup.choices}


words = st.sampled_from(["", "E", "x", " x ", "two\nlines", "a\r\nb"]) | st.text(max_size=4)
leaves = words | st.integers() | st.booleans() | st.none() | st.lists(words, max_size=2)
keys = st.sampled_from([key for guided in schema.FIELDS for key in guided.path] + ["Other"])
profiles = st.dictionaries(
    keys,
    st.recursive(leaves, lambda inner: st.dictionaries(keys, inner, max_size=4), max_leaves=8),
    max_size=5,
)


# The first card loads the translations, and a busy machine is slow to make examples.
RELAXED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@RELAXED
@given(profiles)
def test_an_unchanged_form_gives_the_same_profile(profile):
    values, rest = schema.split(profile)
    assert schema.merged(profile, browser(values), rest) == profile


@RELAXED
@given(profiles)
def test_a_card_loses_nothing_of_what_a_profile_holds(profile):
    """Every text and number of a profile stands on its card; the four traits as words."""
    shown = str(json.dumps(schema.card(profile), default=str, ensure_ascii=False))
    for leaf in _leaves({key: value for key, value in profile.items() if key != "Name"}):
        assert leaf in shown


def _leaves(value):
    if isinstance(value, dict):
        return [leaf for inner in value.values() for leaf in _leaves(inner)]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    plain = isinstance(value, str) and value.isalnum() and value not in "EISNTFJP"
    return [value] if plain else []
