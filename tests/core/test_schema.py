import argparse
from datetime import date
from fractions import Fraction

import pytest
from pydantic.dataclasses import dataclass

from annotation.api.bodies import serializer_of
from annotation.core.errors import DomainError
from annotation.core.schema import add_arguments, asked, built, form_of, taken


@dataclass(frozen=True)
class Brewing:
    """A pot of tea."""

    leaf: str = asked("Leaf", max_length=5)
    cups: int = asked("Cups", 2, "How many are poured", ge=1, le=9)
    milk: Fraction = asked("Milk", Fraction(0))
    strength: float = asked("Strength, in percent", 0.5, ge=0, le=1, unit="percent")
    guests: list[str] = asked("Guests", [], flag="guest")
    codes: list[str] = asked("Codes", [], unit="comma")
    pot: str = asked("Pot", "round", choices=lambda: {"round": "Round", "tall": "Tall"})
    day: date | None = asked("Day", None)
    warm: bool = asked("Warm the pot", False)
    lid: bool = asked("With its lid", True, flag="no-lid")


ENTERED = {
    "leaf": "oolong"[:5],
    "cups": "3",
    "milk": "1/3",
    "strength": "25",
    "guests": "ann, bob\nann",
    "codes": "en ko",
    "pot": "tall",
    "day": "2024-02-29",
    "warm": "on",
}
BREWED = Brewing(
    "oolon", 3, Fraction(1, 3), 0.25, ["ann", "bob"], ["en", "ko"], "tall", date(2024, 2, 29), True,
    False,
)  # fmt: skip


def test_one_schema_is_a_form_a_body_and_arguments():
    form = form_of(Brewing)(ENTERED)
    assert form.is_valid()
    assert form.schema == BREWED
    sent = {"leaf": "oolon", "cups": 3, "milk": "1/3", "strength": 0.25, "guests": ["ann", "bob"]}
    sent |= {"codes": ["en", "ko"], "pot": "tall", "day": "2024-02-29", "warm": True, "lid": False}
    body = serializer_of(Brewing)(data=sent)
    assert body.is_valid()
    assert built(Brewing, body.validated_data) == BREWED
    parser = argparse.ArgumentParser()
    add_arguments(parser, Brewing)
    words = "--leaf oolon --cups 3 --milk 1/3 --guest ann --guest bob --codes en,ko --pot tall"
    words += " --strength 25 --day 2024-02-29 --warm --no-lid"
    options = vars(parser.parse_args(words.split()))
    assert built(Brewing, taken(Brewing, options)) == BREWED


def test_what_is_left_empty_is_the_default():
    plain = Brewing(leaf="assam")
    form = form_of(Brewing)({"leaf": "assam", "lid": "on", "pot": "round"})
    assert form.is_valid()
    assert form.schema == plain
    body = serializer_of(Brewing)(data={"leaf": "assam"})
    assert body.is_valid()
    assert built(Brewing, body.validated_data) == plain
    parser = argparse.ArgumentParser()
    add_arguments(parser, Brewing, optional=("leaf",))
    assert built(Brewing, {"leaf": "assam"} | taken(Brewing, vars(parser.parse_args([])))) == plain


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("cups", "0", "“Cups” is a number from 1 to 9."),
        ("cups", "10", "“Cups” is a number from 1 to 9."),
        ("leaf", "oolong", "“Leaf”: String should have at most 5 characters."),
        ("pot", "flat", "“Pot” is one of: round, tall."),
    ],
)
def test_every_way_refuses_what_is_out_of_bounds(name, value, sentence):
    with pytest.raises(DomainError) as refusal:
        built(Brewing, {"leaf": "assam", name: value})
    assert refusal.value.sentence == sentence
    assert not form_of(Brewing)({"leaf": "assam", "pot": "round", name: value}).is_valid()
    assert not serializer_of(Brewing)(data={"leaf": "assam", name: value}).is_valid()


def test_a_share_that_is_no_number_is_refused():
    body = serializer_of(Brewing, "strength")(data={"strength": "NaN"})
    assert not body.is_valid()


def test_a_share_is_shown_in_percent():
    assert 'value="50"' in str(form_of(Brewing)()["strength"])
