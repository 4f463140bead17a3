"""Places inside a record: ``conversation_a[1].content``, ``answers[].text``. Pure."""

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

CONSTANT = "="
_NAME = re.compile(r"[^.\[\]]+")
_STEP = re.compile(r"([^.\[\]]+)|\[(-?\d*)\]")


@lru_cache(maxsize=1024)
def steps(path: str) -> tuple[str | int | None, ...]:
    """The parts of ``path``: names, places (from 0, or from the end), None for every place.

    ValueError where it is no path.
    """
    if path.startswith(CONSTANT):
        return (path,)
    taken: list[str | int | None] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None:
            raise ValueError(f"“{path[:80]}” is no place in a record")
        taken.append(match[1] or (int(match[2]) if match[2] not in ("", "-") else None))
        position = match.end()
        if position < len(path) and path[position] == ".":
            position += 1
    return tuple(taken)


def value_at(record: dict, path: str) -> Any:
    """What stands at ``path``; None where nothing does.

    A column called exactly like the path comes first: its name may hold dots and brackets. "=TEXT"
    is the TEXT itself, the same in every record.
    """
    if path in record:
        return record[path]
    if path.startswith(CONSTANT):
        return path.removeprefix(CONSTANT)
    return _walk(record, steps(path))


def _walk(value: Any, path: tuple) -> Any:
    for number, step in enumerate(path):
        if step is None:
            if not isinstance(value, list):
                return None
            return [_walk(entry, path[number + 1 :]) for entry in value]
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def column_of(path: str, columns: Collection[str]) -> str:
    """The column that ``path`` begins in."""
    return path if path in columns else str(steps(path)[0])


def leaves(record: dict, limit: int = 200) -> dict[str, object]:
    """Every place of ``record`` a value can be taken from, with the value; lists by ``[]``."""
    places: dict[str, object] = {}

    def offer(value: object, path: str) -> None:
        if len(places) < limit and (path not in record or value is record[path]):
            places.setdefault(path, value)

    def visit(value: object, path: str) -> None:
        offer(value, path)
        if isinstance(value, dict):
            for key, entry in value.items():
                if _NAME.fullmatch(str(key)):
                    visit(entry, f"{path}.{key}")
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for key in value[0]:
                if _NAME.fullmatch(str(key)):
                    entries = [_walk(entry, (str(key),)) for entry in value]
                    offer(entries, f"{path}[].{key}")

    for name, value in record.items():
        if _NAME.fullmatch(str(name)):
            visit(value, str(name))
        elif name:
            offer(value, str(name))
    return places


def unread(record: dict, read: list[str]) -> list[str]:
    """Places beside those that ``read`` takes of each object in a list: ``answers[].score``."""
    lists = {name.partition("[]")[0] for name in read if "[]." in name}
    return [
        place
        for place in leaves(record)
        if "[]." in place and place.partition("[]")[0] in lists and place not in read
    ]
