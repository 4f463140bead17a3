"""Of whom personas consist: values by dimension, and what is over-represented."""

from collections import Counter

import pytest

from annotation.personas import balance

MINA = {
    "Name": "Mina Park",
    "Demographics": {
        "Age": "34 years",
        "Gender": "Female",
        "Nationality": "Korean",
        "Career_Information": "Nurse, 12 years at a hospital in Oslo",
    },
    "Personality": {
        "Extraversion_or_Introversion": "I",
        "Sensing_or_Intuition": "N",
        "Thinking_or_Feeling": "T",
        "Judging_or_Perceiving": "J",
        "Values_and_Interests": ["Rye bread", "Chess", "chess"],
    },
    "Preference": {"Content_Interests": ["Travel", ""]},
}


def values(name, profile=MINA):
    return balance.values(profile, balance.DIMENSIONS[name])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("occupation", {"nurse"}),
        ("age", {"30–39"}),
        ("gender", {"female"}),
        ("nationality", {"korean"}),
        ("mbti", {"INTJ"}),
        ("interests", {"rye bread", "chess", "travel"}),
    ],
)
def test_a_profile_has_its_values_in_each_dimension(name, expected):
    assert values(name) == expected
    assert values(name, {}) == set()


@pytest.mark.parametrize(
    ("career", "occupation"),
    [
        ("Software engineer at a start-up", "software engineer"),
        ("Teacher; before that a diver", "teacher"),
        ("护士，在医院工作", "护士"),
        ({"Title": "Baker", "Years": 4}, "baker"),
        ([], None),
        (None, None),
        (7, "7"),
        (".", None),
    ],
)
def test_an_occupation_is_what_stands_before_the_first_clause(career, occupation):
    profile = {"Demographics": {"Career_Information": career}}
    assert values("occupation", profile) == ({occupation} if occupation else set())


@pytest.mark.parametrize(
    ("age", "decade"),
    [(0, "0–9"), (9, "0–9"), (10, "10–19"), ("in her 40s", "40–49"), ("old", "old")],
)
def test_an_age_counts_in_its_decade(age, decade):
    assert values("age", {"Demographics": {"Age": age}}) == {decade}


@pytest.mark.parametrize(
    "profile", [{"Demographics": "x"}, {"Personality": []}, {"Demographics": [1]}]
)
def test_other_shapes_have_no_values(profile):
    assert [balance.values(profile, one) for one in balance.DIMENSIONS.values()] == [set()] * 6


def test_a_value_is_over_represented_from_three_half_again_as_often_and_two_per_cent():
    # The even spread is 2.5, and 1.5 times that 3.75.
    assert balance.over_represented(Counter(a=4, b=3, c=2, d=1), 10) == {"a"}
    # The even spread is 4/3.
    assert balance.over_represented(Counter(a=2, b=1, c=1), 4) == frozenset()
    assert balance.over_represented(Counter(a=3, b=1, c=1), 150) == {"a"}
    assert balance.over_represented(Counter(a=3, b=1, c=1), 151) == frozenset()
    assert balance.over_represented(Counter(), 0) == frozenset()


def test_ages_stand_in_their_order_and_other_values_by_how_many_have_them():
    people = [{"Demographics": {"Age": age, "Gender": gender}} for age, gender in
              [(101, "f"), (34, "m"), (35, "m"), (7, "f"), (8, "m")]]  # fmt: skip
    age, gender = (balance.tally(balance.DIMENSIONS[name], people) for name in ("age", "gender"))
    assert age.rows == [("0–9", 2), ("30–39", 2), ("100–109", 1)]
    assert (gender.rows, gender.personas) == ([("m", 3), ("f", 2)], 5)


def test_words_of_a_profile_are_its_values_without_keys_names_and_letters():
    assert balance.values_as_text(
        {"Name": "Jo", "Personality": {"x": "E"}, "Food": ["tea", "rice"]}
    ) == ("tea rice")
