"""Of whom a set of personas consists: values by dimension, and which of them are over-represented.

Pure. A persona counts once for each value it has in a dimension; a value that nobody states counts
nowhere.
"""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from annotation.personas import schema as profiles

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# A value is over-represented where it occurs so often, so many times as often as an even spread
# over the values would have it, and in such a share of the personas.
LEAST, TIMES, SHARE = 3, 1.5, 0.02
# Signs that end the name of an occupation: what follows says where or for how long.
_CLAUSE = re.compile(r"[,;:.()\n/，；：。（）、]| (?:at|in|with|for|from) ", re.I)
_DIGITS = re.compile(r"\d{1,3}")
_TRAITS = (
    *("Extraversion_or_Introversion", "Sensing_or_Intuition"),
    *("Thinking_or_Feeling", "Judging_or_Perceiving"),
)
VALUE_LIMIT = 80


@dataclass(frozen=True)
class Dimension:
    """One way to look at personas: ``values(profile)`` are what one has in it."""

    name: str
    label: "StrOrPromise"
    values: Callable[[dict], list[str]]


@dataclass(frozen=True)
class Tally:
    """How often each value of a dimension occurs: ``rows`` of (value, personas), most first."""

    dimension: Dimension
    rows: list[tuple[str, int]]
    personas: int
    over: frozenset[str]

    @property
    def marked(self) -> list[tuple[str, int]]:
        """The over-represented values with their counts, most frequent first."""
        return sorted(
            ((value, count) for value, count in self.rows if value in self.over),
            key=lambda row: (-row[1], row[0]),
        )


def _at(profile: dict, *path: str) -> list[str]:
    """The texts at a place of ``profile``: one, those of a list, or those below it."""
    value: object = profile
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    if isinstance(value, dict | list):
        return [str(leaf).strip() for _path, leaf in profiles.leaves({"": value})]
    return [str(value).strip()] if value not in (None, "") else []


def _occupations(profile: dict) -> list[str]:
    """The first words of the first text: "Nurse, 12 years in Oslo" is a nurse."""
    texts = _at(profile, "Demographics", "Career_Information")
    first = _CLAUSE.split(texts[0].strip(" .,"), maxsplit=1)[0] if texts else ""
    return [first.strip().casefold()]


def _ages(profile: dict) -> list[str]:
    """The decade: "30–39"."""
    text = " ".join(_at(profile, "Demographics", "Age"))
    if not (digits := _DIGITS.search(text)):
        return [text]
    decade = int(digits[0]) // 10 * 10
    return [f"{decade}–{decade + 9}"]


def _types(profile: dict) -> list[str]:
    """The type of Myers and Briggs, such as "INTJ"; nothing where a letter is missing."""
    letters = ["".join(_at(profile, "Personality", trait))[:1].upper() for trait in _TRAITS]
    return ["".join(letters)] if all(letters) else []


def _interests(profile: dict) -> list[str]:
    texts = _at(profile, "Personality", "Values_and_Interests")
    texts += _at(profile, "Preference", "Content_Interests")
    return [text.casefold() for text in texts]


DIMENSIONS = {
    dimension.name: dimension
    for dimension in (
        Dimension("occupation", _("Occupation"), _occupations),
        Dimension("age", _("Age"), _ages),
        Dimension("gender", _("Gender"), lambda p: _plain(_at(p, "Demographics", "Gender"))),
        Dimension(
            "nationality", _("Nationality"), lambda p: _plain(_at(p, "Demographics", "Nationality"))
        ),
        Dimension("mbti", _("Personality type (MBTI)"), _types),
        Dimension("interests", _("Values and interests"), _interests),
    )
}


def _plain(texts: list[str]) -> list[str]:
    return [text.casefold() for text in texts]


def values(profile: dict, dimension: Dimension) -> set[str]:
    """What a persona has in a dimension, each value once."""
    return {value[:VALUE_LIMIT] for value in dimension.values(profile) if value}


def tally(dimension: Dimension, people: list[dict]) -> Tally:
    """The values of ``people`` (profiles) in one dimension; ages in their order."""
    counted: Counter[str] = Counter()
    for profile in people:
        counted.update(values(profile, dimension))
    rows = sorted(counted.items(), key=lambda row: (-row[1], row[0]))
    if dimension.name == "age":
        rows.sort(key=lambda row: (len(row[0]), row[0]))
    return Tally(dimension, rows, len(people), over_represented(counted, len(people)))


def tallies(people: list[dict]) -> list[Tally]:
    """A tally of ``people`` (profiles) for every dimension."""
    return [tally(dimension, people) for dimension in DIMENSIONS.values()]


def over_represented(counted: Counter[str], personas: int) -> frozenset[str]:
    """The values that occur too often: see LEAST, TIMES and SHARE."""
    even = sum(counted.values()) / (len(counted) or 1)
    least = max(LEAST, TIMES * even, SHARE * personas)
    return frozenset(value for value, count in counted.items() if count >= least)


def values_as_text(profile: dict) -> str:
    """What a profile says without its keys, which all profiles share."""
    texts = {path: str(leaf) for path, leaf in profiles.leaves(profile) if path != "/Name"}
    return " ".join(text for text in texts.values() if len(text) > 1)
