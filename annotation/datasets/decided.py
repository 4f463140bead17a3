"""The verdicts of many items: those that no rule on votes tells apart are decided once. Pure."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from annotation.datasets.columns import json_text, parsed
from annotation.datasets.records import Chunk, Item, Verdict


@dataclass(frozen=True)
class Decided:
    """``pattern`` (items,) is the place of each item's pattern; what follows is of each pattern.

    ``winner`` is a label's place among those of an item, -1 for none.
    """

    pattern: np.ndarray
    verdicts: list[Verdict]
    winner: np.ndarray
    judgments: list[int]

    @classmethod
    def of(cls, pattern: np.ndarray, items: list[Item], verdicts: list[Verdict]) -> "Decided":
        """The ``verdicts`` of an item of each pattern."""
        pairs = zip(items, verdicts, strict=True)
        winner = [-1 if v.winner is None else item.labels.index(v.winner) for item, v in pairs]
        return cls(pattern, verdicts, np.array(winner), [len(item.votes) for item in items])

    def columns(self, chunk: Chunk) -> dict[str, pa.Array]:
        """``votes``, ``judgments``, ``winner``, ``share`` and ``tier`` of all items as JSON."""
        items = np.arange(len(chunk))
        return {
            "votes": self._spread([verdict.counts for verdict in self.verdicts]),
            "judgments": self._spread(self.judgments),
            "winner": chunk.options.label(items, self.winner[self.pattern]),
            "share": self._spread([verdict.share for verdict in self.verdicts]),
            "tier": self._spread([verdict.tier for verdict in self.verdicts]),
        }

    def _spread(self, values: list) -> pa.Array:
        texts = [None if value is None else json_text(value) for value in values]
        return pa.array(texts, pa.string()).take(pa.array(self.pattern))


def patterns(
    chunk: Chunk, panels: Collection[int], dropped: Collection[str]
) -> tuple[np.ndarray, np.ndarray]:
    """The first item of each pattern, and the pattern (items,) of each item.

    Items of a pattern have the same votes, all of them and the first of each of ``panels``, by the
    places of their labels. An item with a vote that is no label of it is a pattern of its own.
    """
    votes, items = chunk.votes, np.arange(len(chunk))
    rank = np.arange(len(votes.place)) - votes.ends(len(chunk))[votes.place]
    counts = [chunk.counted(votes.code >= 0)]
    counts += [chunk.counted((votes.code >= 0) & (rank < panel)) for panel in panels]
    alone = np.isin(items, votes.place[votes.code < 0])
    names = chunk.columns.values("item_id") if dropped else []
    out = [name in dropped for name in names] or np.zeros(len(chunk))
    keys = np.column_stack([chunk.alike, out, np.where(alone, items, -1), *counts])
    _, first, pattern = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, pattern.reshape(-1)


def voters(chunk: Chunk, pattern: np.ndarray) -> list[list[str]]:
    """Who judged the items of each pattern."""
    encoded = chunk.votes.columns.texts["worker"].dictionary_encode()
    names = parsed(encoded.dictionary)
    by_pattern: list[list[str]] = [[] for _ in range(pattern.max() + 1)]
    keys = pattern[chunk.votes.place] * len(names) + encoded.indices.to_numpy()
    for key in np.unique(keys).tolist():
        by_pattern[key // len(names)].append(names[key % len(names)])
    return by_pattern
