"""The answers of several items, and the labels that votes on them may have, by column. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from annotation.datasets.columns import ends_of, json_lists, json_text, parsed


@dataclass(frozen=True)
class Options:
    """``texts`` are the answers' ids as JSON, those of an item by their numbers, and then words.

    ``ends`` (items + 1,) are the places in it where each item's answers begin, and the last end;
    ``labels`` (items, most labels) those of every label of an item, -1 where it has fewer.
    """

    texts: pa.Array
    ends: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(
        cls,
        ids: pa.Array,
        ends: np.ndarray,
        offered: Sequence[Sequence[int | str]],
        task: np.ndarray,
    ) -> "Options":
        """The answers ``ids`` of items with the labels of their tasks.

        ``offered`` are each task's labels, an answer's number or a word; ``task`` (items,) is the
        place in it of an item's task.
        """
        every = [label for labels in offered for label in labels]
        words = list(dict.fromkeys(label for label in every if isinstance(label, str)))
        places = np.full((len(task), max(1, *map(len, offered))), -1)
        for number, labels in enumerate(offered):
            items = np.flatnonzero(task == number)
            for place, label in enumerate(labels):
                if isinstance(label, str):
                    places[items, place] = len(ids) + words.index(label)
                else:
                    places[items, place] = ends[items] + label - 1
        texts = pa.concat_arrays([ids, pa.array(map(json_text, words), pa.string())])
        return cls(texts, ends, places)

    def ids(self, item: int) -> dict[int, str]:
        """{number: id} of the item's answers."""
        first, end = self.ends[item : item + 2].tolist()
        return dict(enumerate(parsed(self.texts.slice(first, end - first)), start=1))

    def answers(self) -> pa.Array:
        """The ids of each item's answers as a JSON list."""
        return json_lists(self.texts, self.ends)

    def offered(self) -> pa.Array:
        """The labels of each item as a JSON list."""
        there = self.labels >= 0
        return json_lists(self.texts.take(pa.array(self.labels[there])), ends_of(there.sum(axis=1)))

    def label(self, item: np.ndarray, place: np.ndarray) -> pa.Array:
        """The labels of the items at their places among the items' labels; null where -1."""
        return self.texts.take(pa.array(self.labels[item, place], mask=place < 0))
