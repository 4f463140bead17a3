"""The schema of profiles (docs/data-dictionary.md) as fields of a form. Pure.

A profile may hold more than the schema, and other shapes in its places: all of that is the *rest*,
edited as JSON. Splitting and merging an unchanged profile gives the same profile.
"""

import copy
import math
import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from annotation.core.words import StrOrPromise

Rows = list[tuple[StrOrPromise, object]]
# What a card shows: (title, rows) per group.
Groups = list[tuple[StrOrPromise, Rows]]
TEXT, LINES, CHOICE = "text", "lines", "choice"


@dataclass(frozen=True)
class Guided:
    """One place of the schema: form name, path, label, and how it is written."""

    name: str
    path: tuple[str, ...]
    label: StrOrPromise
    kind: str = TEXT
    choices: tuple = ()
    # How a card that is read names the place, where the form's label asks for more.
    heading: StrOrPromise = ""


def _trait(name: str, key: str, label: StrOrPromise, **codes: StrOrPromise) -> Guided:
    """One letter of a personality's type: ``codes`` are the two that it can be."""
    choices = (("", _("not said")), *codes.items())
    return Guided(name, ("Personality", key), label, CHOICE, choices)


def _lines(name: str, path: tuple[str, ...], label: StrOrPromise, heading: StrOrPromise) -> Guided:
    return Guided(name, path, label, LINES, heading=heading)


_FOUR_TRAITS = (
    _trait(
        "extraversion",
        "Extraversion_or_Introversion",
        _("Company"),
        E=_("extraversion"),
        I=_("introversion"),
    ),
    _trait("sensing", "Sensing_or_Intuition", _("Attention"), S=_("sensing"), N=_("intuition")),
    _trait("thinking", "Thinking_or_Feeling", _("Decisions"), T=_("thinking"), F=_("feeling")),
    _trait(
        "judging",
        "Judging_or_Perceiving",
        pgettext_lazy("personality", "Order"),
        J=_("judging"),
        P=_("perceiving"),
    ),
)
# The groups of GROUPS by name, in the order in which a card shows them unless a study begins with
# another.
CARD_GROUPS = {"preferences": 2, "person": 0, "personality": 1}
_ABOUT, _MIND, _LIKES = "Demographics", "Personality", "Preference"
GROUPS = (
    (
        _("The person"),
        (
            Guided("name", ("Name",), _("Name")),
            Guided("age", (_ABOUT, "Age"), _("Age")),
            Guided("gender", (_ABOUT, "Gender"), _("Gender")),
            Guided("nationality", (_ABOUT, "Nationality"), _("Nationality")),
            _lines("language", (_ABOUT, "Language"), _("Languages, one a line"), _("Languages")),
            Guided("career", (_ABOUT, "Career_Information"), _("Work")),
        ),
    ),
    (
        _("Personality"),
        (
            *_FOUR_TRAITS,
            _lines(
                "values",
                (_MIND, "Values_and_Interests"),
                _("Values and interests, one a line"),
                _("Values and interests"),
            ),
        ),
    ),
    (
        _("Preferences"),
        (
            Guided("food", (_LIKES, "Local_Life", "Food_Drinks"), _("Food and drinks")),
            Guided(
                "shopping",
                (_LIKES, "Local_Life", "Entertainment_Shopping"),
                _("Entertainment and shopping"),
            ),
            Guided("outings", (_LIKES, "Local_Life", "Daily_Outings"), _("Daily outings")),
            Guided("business", (_LIKES, "Travel", "Business_Trips"), _("Business trips")),
            Guided("leisure", (_LIKES, "Travel", "Leisure_Travel"), _("Leisure travel")),
            Guided("social", (_LIKES, "Social"), _("Social life")),
            Guided("work", (_LIKES, "Productivity", "Study_Work"), _("Study and work")),
            Guided("fitness", (_LIKES, "Productivity", "Fitness"), _("Fitness")),
            _lines(
                "content",
                (_LIKES, "Content_Interests"),
                _("What to read, one a line"),
                _("Likes to read"),
            ),
        ),
    ),
)
_TRAITS = {
    "E": _("extraverted"),
    "I": _("introverted"),
    "S": _("sensing"),
    "N": _("intuitive"),
    "T": _("thinking"),
    "F": _("feeling"),
    "J": _("judging"),
    "P": _("perceiving"),
}
FIELDS = tuple(guided for _, fields in GROUPS for guided in fields)


def card(profile: dict, first: str = "") -> Groups:
    """What a reader sees of a profile: (title, [(label, value)]) per group that holds something.

    The groups follow CARD_GROUPS, beginning with ``first``, and fields stand as the profile has
    them. The name is left out: it is the card's heading. Labels of the schema are translated, and
    the four traits are one row of words. What the schema does not have keeps its own keys, behind
    the group it belongs to or, at the top level, in a last group without a title.
    """
    values, rest = split({key: value for key, value in profile.items() if key != "Name"})
    groups: Groups = []
    for name in sorted(CARD_GROUPS, key=lambda name: name != first):
        title, fields = GROUPS[CARD_GROUPS[name]]
        rows = _traits_row(fields, values)
        rows += _rows(sorted(fields, key=lambda guided: _rank(profile, guided.path)), values)
        key = fields[-1].path[0]
        if isinstance(rest.get(key), dict):
            rows += list(rest.pop(key).items())
        groups.append((title, rows))
    groups.append(("", list(rest.items())))
    return [(title, shown) for title, rows in groups if (shown := _filled(rows))]


def _traits_row(fields: tuple[Guided, ...], values: dict[str, str]) -> Rows:
    codes = [values.get(guided.name) for guided in fields if guided.kind == CHOICE]
    words = gettext(", ").join(str(_TRAITS[code]) for code in codes if code)
    return [(_("Character"), words[:1].upper() + words[1:])]


def _rows(fields: Sequence[Guided], values: dict[str, str]) -> Rows:
    """Label and words of each field but the traits; the lines of a list in one."""
    separators = {LINES: " · ", TEXT: "\n"}
    return [
        (guided.heading or guided.label, words.replace("\n", separators[guided.kind]))
        for guided in fields
        if guided.kind != CHOICE and (words := values.get(guided.name, ""))
    ]


def _filled(rows: Rows) -> Rows:
    return [(label, value) for label, value in rows if value not in ("", None, [], {})]


def without(profile: dict, hidden: Iterable[str]) -> dict:
    """``profile`` without the fields ``hidden``, paths such as "Preference.Travel"."""
    shown = copy.deepcopy(profile)
    for path in (field.split(".") for field in hidden):
        if at(shown, path) is not None:
            _remove(shown, path)
    return shown


def split(profile: dict) -> tuple[dict[str, str], dict]:
    """Words for the guided fields, by name, and the rest of the profile."""
    rest, values = copy.deepcopy(profile), {}
    for guided in FIELDS:
        words = _words(guided, at(profile, guided.path))
        if words is not None:
            values[guided.name] = words
            _remove(rest, guided.path)
    return values, rest


def merged(original: dict, values: dict[str, str], rest: dict) -> dict:
    """The profile of what the form says; what it leaves as it was keeps its type.

    Raises ValueError with words where ``rest`` and a guided field want the same place.
    """
    profile = copy.deepcopy(rest)
    for guided in FIELDS:
        words = tidy(values.get(guided.name, ""))
        before = at(original, guided.path)
        shown = _words(guided, before)
        if shown is not None and tidy(shown) == words:
            _put(profile, guided.path, before)
        elif words:
            lines = [line.strip() for line in words.split("\n") if line.strip()]
            _put(profile, guided.path, lines if guided.kind == LINES else words)
    return _like(profile, original)


def _like(value: Any, original: Any) -> Any:
    """``value`` with the keys that ``original`` has in its order, others behind."""
    if not isinstance(value, dict) or not isinstance(original, dict):
        return value
    keys = [key for key in original if key in value]
    keys += [key for key in value if key not in original]
    return {key: _like(value[key], original.get(key)) for key in keys}


def _rank(profile: Any, path: Sequence[str]) -> list[float]:
    """Where a place stands among the keys around it, level by level."""
    rank = []
    for key in path:
        keys = list(profile) if isinstance(profile, dict) else []
        rank.append(keys.index(key) if key in keys else math.inf)
        profile = profile[key] if key in keys else None
    return rank


def tidy(words: str) -> str:
    """``words`` as a browser sends them back: other line ends, nothing around them."""
    return words.replace("\r\n", "\n").strip()


def _words(guided: Guided, value: Any) -> str | None:
    """How the form shows the value; None where its shape is not the field's."""
    if guided.kind == LINES:
        fits = isinstance(value, list) and all(
            isinstance(line, str) and line.strip() == line and line and len(line.splitlines()) == 1
            for line in value
        )
        return "\n".join(value) if fits else None
    if guided.kind == CHOICE:
        return value if value in [code for code, _ in guided.choices] else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number or isinstance(value, str) else None


def at(value: Any, path: Sequence[str]) -> Any:
    """What stands at a ``path`` of keys; None where there is no such place."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _remove(value: dict, path: Sequence[str]) -> None:
    """Take the place out, and the objects around it that become empty by it."""
    key, *deeper = path
    if deeper:
        _remove(value[key], deeper)
    if not deeper or not value[key]:
        del value[key]


def _put(profile: dict, path: Sequence[str], value: Any) -> None:
    *around, last = path
    for key in around:
        profile = profile.setdefault(key, {})
        if not isinstance(profile, dict):
            raise ValueError(_("“%s” must be an object where other fields stand in it.") % key)
    if last in profile:
        raise ValueError(_("“%s” is given twice: above, and in the other fields.") % last)
    profile[last] = value


CORE = ("Demographics", "Personality")


def core_fields(profile: dict) -> dict:
    """Return the core fields of ``profile`` (demographics and personality), where it has them."""
    return {key: profile[key] for key in CORE if profile.get(key)}


def leaves(value: object, path: str = "") -> list[tuple[str, object]]:
    """Every leaf of a profile, or of what stands at its ``path``: (JSON Pointer, value), in order.

    Empty texts and null are no leaves.
    """
    if isinstance(value, dict | list):
        below = (leaves(inner, f"{path}/{_escaped(key)}") for key, inner in _items(value))
        return list(chain.from_iterable(below))
    return [] if value in ("", None) else [(path, value)]


def mask(profile: dict, *, seed: int, share: float = 0.8) -> tuple[dict, list[str]]:
    """Leave out exactly ``round(share * leaves)`` leaves, drawn without replacement.

    ``share`` is from 0 to 1; the same ``seed`` masks the same leaves. Returns the profile without
    them (containers that became empty are gone too) and the masked paths in the profile's order.
    80 % is what strategy A2 leaves out. Raises ValueError on a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"share must be from 0 to 1, not {share}")
    paths = [path for path, _ in leaves(profile)]
    drawn = random.Random(seed).sample(paths, round(share * len(paths)))  # noqa: S311 - no secret
    masked = set(drawn)
    return _without(profile, "", masked) or {}, [path for path in paths if path in masked]


def as_text(profile: dict) -> str:
    """Return ``profile`` as an indented list, a line a leaf or heading; no empty values."""
    return "\n".join(_outline(profile, 0))


def _items(value: dict | list) -> Iterable[tuple[Any, Any]]:
    return value.items() if isinstance(value, dict) else enumerate(value)


def _escaped(key: object) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _without(value: Any, path: str, masked: Collection[str]) -> Any:
    """``value`` without the masked paths; None where nothing is left."""
    if not isinstance(value, dict | list):
        return None if path in masked or value in ("", None) else value
    rest = {
        key: inner
        for key, old in _items(value)
        if (inner := _without(old, f"{path}/{_escaped(key)}", masked)) is not None
    }
    if not rest:
        return None
    return rest if isinstance(value, dict) else list(rest.values())


def _outline(value: dict | list, depth: int) -> Iterator[str]:
    """The lines of ``as_text``; a list of texts is one."""
    indent = "  " * depth
    for key, inner in _items(value):
        name = str(key).replace("_", " ") if isinstance(value, dict) else ""
        if isinstance(inner, list) and not any(isinstance(part, dict | list) for part in inner):
            inner = ", ".join(str(part) for part in inner if part not in ("", None))
        if isinstance(inner, dict | list):
            if below := list(_outline(inner, depth + 1)):
                yield f"{indent}- {name}:" if name else f"{indent}-"
                yield from below
        elif inner not in ("", None):
            yield f"{indent}- {name}: {inner}" if name else f"{indent}- {inner}"
