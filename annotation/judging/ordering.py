"""Which answers are compared, and in which order they are shown. Pure and seeded."""

import functools
import hashlib
import itertools
import random
from collections.abc import Sequence
from typing import Any
from uuid import UUID

# Rows of a Latin square: over its rows every answer stands once in every place. Three answers have
# two squares; alternating them lets every answer follow every other one.
_SQUARES: dict[int, list[list[tuple[int, ...]]]] = {
    2: [[(1, 2), (2, 1)]],
    3: [[(1, 2, 3), (2, 3, 1), (3, 1, 2)], [(1, 3, 2), (3, 2, 1), (2, 1, 3)]],
}


def _rng(*parts: Any) -> random.Random:
    digest = hashlib.sha256("/".join(map(str, parts)).encode()).digest()
    return random.Random(digest)  # noqa: S311 - reproducible on purpose


@functools.lru_cache(maxsize=4096)
def shown_order(item: UUID, ordinal: int, options: int) -> tuple[int, ...]:
    """Canonical option numbers in the order in which slot ``ordinal`` of ``item`` shows them.

    ``item`` is anything whose text is random and stable (its UUID is the seed). Over the first n
    slots of an item the places of an answer differ by at most one, so sides are balanced within
    the item (9 votes on a pair: 5 and 4; on a triple: 3, 3 and 3). More than three options take
    the rotations of one random order; one or none need no order at all.
    """
    if options < 2:
        return tuple(range(1, options + 1))
    squares = _SQUARES.get(options) or [_rotations(_rng(item, options), options)]
    block, place = divmod(ordinal, options)
    square = list(squares[(block + _rng(item).randrange(len(squares))) % len(squares)])
    _rng(item, block).shuffle(square)
    return square[place]


def _rotations(rng: random.Random, options: int) -> list[tuple[int, ...]]:
    base = rng.sample(range(1, options + 1), options)
    return [tuple(base[n:] + base[:n]) for n in range(options)]


def pairs(
    candidates: Sequence[str], texts: Sequence[str], count: int, seed: str
) -> list[tuple[str, str]]:
    """Draw ``count`` random pairs of different answers to one query.

    ``candidates`` are ids and ``texts`` their answers, in the same order; pairs with equal texts
    are left out, since they cannot be distinguished. Fewer than ``count`` pairs may exist.
    """
    every = [
        (candidates[a], candidates[b])
        for a, b in itertools.combinations(range(len(candidates)), 2)
        if texts[a].strip() != texts[b].strip()
    ]
    rng = _rng(seed)
    rng.shuffle(every)
    # The stored order must not follow the order of generation either.
    drawn = (rng.sample(pair, 2) for pair in every[:count])
    return [(first, second) for first, second in drawn]


def triple(candidates: Sequence[str], texts: Sequence[str], seed: str) -> tuple[str, ...] | None:
    """Put three answers to one query in a random canonical order; None where texts are equal."""
    if len(candidates) != 3 or len({text.strip() for text in texts}) != 3:
        return None
    return tuple(_rng(seed).sample(list(candidates), 3))


def mixed(ids: Sequence, seed: str) -> list:
    """``ids`` in a seeded random order."""
    return _rng(seed).sample(list(ids), len(ids))
