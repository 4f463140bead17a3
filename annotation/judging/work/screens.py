"""The fields of a screen on which several items are judged: each is named after its slot. Pure."""

import re
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.http import QueryDict

_NAMED = re.compile(r"(?s)(.+)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
# Fields of a form that are looked at.
LIMIT = 200


def slots_named(names: Iterable[str]) -> set[UUID]:
    """The slots that fields are named after, at most LIMIT."""
    matches = (match for name in names if (match := _NAMED.fullmatch(name)))
    return {UUID(match[2]) for match in list(matches)[:LIMIT]}


def part_of(data: Any, slot: UUID, *, whole: bool) -> Any:
    """The fields of ``slot`` under their own names; ``whole``: with those of no slot.

    A body of the API, and a form of one item, is returned as it is.
    """
    if not hasattr(data, "lists") or not slots_named(data):
        return data
    part = QueryDict(mutable=True)
    for name, values in data.lists():
        match = _NAMED.fullmatch(name)
        if match and match[2] == str(slot):
            part.setlist(match[1], values)
        elif not match and whole:
            part.setlist(name, values)
    return part
