"""Parts of a persona's profile: its core fields, a masked copy, and all of it as text.

A profile is JSON in the schema of docs/data-dictionary.md; unknown keys take part like known ones.
A *leaf* is a value that says something: neither a container nor empty. Its path is
a JSON Pointer (RFC 6901), because keys may contain any character.
"""

import random
from collections.abc import Collection, Iterable, Iterator
from typing import Any

CORE = ("Demographics", "Personality")


def core_fields(profile: dict) -> dict:
    """Return the core fields of ``profile`` (demographics and personality), where it has them."""
    return {key: profile[key] for key in CORE if profile.get(key)}


def leaves(profile: dict) -> list[tuple[str, object]]:
    """Return every leaf of ``profile`` as (JSON Pointer, value), in the profile's own order."""
    return list(_leaves(profile, ""))


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
    return "\n".join(_lines(profile, 0))


def _leaves(value: object, path: str) -> Iterator[tuple]:
    if isinstance(value, dict | list):
        for key, inner in _items(value):
            yield from _leaves(inner, f"{path}/{_escaped(key)}")
    elif value not in ("", None):
        yield path, value


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


def _lines(value: dict | list, depth: int) -> Iterator[str]:
    indent = "  " * depth
    for key, inner in _items(value):
        name = str(key).replace("_", " ") if isinstance(value, dict) else ""
        if not isinstance(inner, dict | list):
            if inner not in ("", None):
                yield f"{indent}- {name}: {inner}" if name else f"{indent}- {inner}"
        elif _is_plain_list(inner):
            texts = ", ".join(str(element) for element in inner if element not in ("", None))
            if texts:
                yield f"{indent}- {name}: {texts}" if name else f"{indent}- {texts}"
        elif below := list(_lines(inner, depth + 1)):
            yield f"{indent}- {name}:" if name else f"{indent}-"
            yield from below


def _is_plain_list(value: object) -> bool:
    return isinstance(value, list) and not any(isinstance(inner, dict | list) for inner in value)
