"""BM25 of pairs of texts (Robertson and Zaragoza 2009), k1 = 1.5 and b = 0.75. Pure."""

import math
import re
from collections import Counter

import numpy as np

K1, B = 1.5, 0.75
# Each Chinese or Japanese sign is a word of its own.
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\d_\u3040-\u30ff\u3400-\u9fff]+|\d+")


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return _WORD.findall(text.lower())


class Corpus:
    """How rare words are, and how long documents."""

    def __init__(self, documents: list[str]) -> None:
        self.frequency: Counter = Counter()
        total = 0
        for document in documents:
            split = words(document)
            total += len(split)
            self.frequency.update(set(split))
        self.size = len(documents)
        self.mean = total / max(self.size, 1) or 1.0

    def scores(self, queries: list[str], documents: list[str]) -> np.ndarray:
        """(rows,): how well each document answers the query in the same row."""
        wanted = {query: set(words(query)) for query in set(queries)}
        rows = zip(queries, documents, strict=True)
        return np.array([self._score(wanted[query], document) for query, document in rows])

    def _score(self, wanted: set[str], document: str) -> float:
        counts = Counter(words(document))
        norm = K1 * (1 - B + B * counts.total() / self.mean)
        return sum(
            self._rarity(word) * count * (K1 + 1) / (count + norm)
            for word, count in counts.items()
            if word in wanted
        )

    def _rarity(self, word: str) -> float:
        held = self.frequency[word]
        return math.log(1 + (self.size - held + 0.5) / (held + 0.5))
