"""How far passages that several people mark in the same text are the same, by character.

The F-measure of two people, one taken as the truth of the other, is what they share of what both
mark: 2·|A ∩ B| / (|A| + |B|), the same either way. Its mean over all pairs is positive specific
agreement (Hripcsak and Rothschild 2005), which needs no count of what nobody marked.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations

from .coefficient import Coefficient, undefined
from .correlation import mean_over_items

NO_PAIR = "no item has two judgments of which one marks something"
# (class, start, end) of each passage of one person in one text; of a class they stand apart.
Marks = Sequence[tuple[str, int, int]]
# What is marked in one text by those who mark something, and how many people looked at it.
Unit = tuple[Sequence[Marks], int]


def character_f1(a: Marks, b: Marks) -> float:
    """What two people share of all characters that they mark, each with its class; NaN of none."""
    marked = sum(end - start for _class, start, end in [*a, *b])
    shared = sum(
        max(0, min(one[2], other[2]) - max(one[1], other[1]))
        for one in a
        for other in b
        if one[0] == other[0]
    )
    return 2 * shared / marked if marked else float("nan")


def mean_f1(items: Iterable[Sequence[Unit]]) -> tuple[Coefficient, int]:
    """The mean over items of the mean over pairs of people and texts, and how many pairs there are.

    ``items`` have a unit a text. A pair of whom neither marks anything in a text is left out.
    """
    means, pairs = [], 0
    for units in items:
        total, count = 0.0, 0
        for marked, people in units:
            total += sum(character_f1(a, b) for a, b in combinations(marked, 2))
            # Who marks nothing shares nothing with those who do.
            count += len(marked) * (len(marked) - 1) // 2 + len(marked) * (people - len(marked))
        if count:
            means.append(total / count)
            pairs += count
    return (mean_over_items(means, floor=0.0) if means else undefined(NO_PAIR)), pairs
