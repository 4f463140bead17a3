"""Sentence embeddings on the CPU, from weights inside the wordllama wheel; nothing is fetched."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

DIMENSIONS = 256
# Characters, filled up to the longest text, that are embedded together.
BATCH = 5_000


def embed(texts: list[str]) -> "np.ndarray":
    """Return one float32 row of 256 numbers for each text, of Euclidean length 1.

    The dot product of two rows is their cosine similarity. An empty list gives shape (0, 256).
    """
    import numpy as np  # models import this module for DIMENSIONS alone

    if not texts:
        return np.empty((0, DIMENSIONS), dtype=np.float32)
    rows = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
    for places in _batches(texts):
        some = [texts[place] for place in places]
        rows[places] = _model().embed(some, norm=False, batch_size=len(some))
    return unit(rows)


def unit(rows: "np.ndarray") -> "np.ndarray":
    """``rows`` (n, dimensions) at length 1, zeros as they are: half precision shortens them."""
    import numpy as np  # as above

    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


def _batches(texts: list[str]) -> Iterator[list[int]]:
    """Places of texts that are embedded together, shortest first.

    The library fills up every text of a batch to the longest, at several kilobytes a sign: without
    an order and a limit one long text would cost as much as dozens of them.
    """
    waiting: list[int] = []
    for place in sorted(range(len(texts)), key=lambda place: len(texts[place])):
        if waiting and len(texts[place]) * (len(waiting) + 1) > BATCH:
            yield waiting
            waiting = []
        waiting.append(place)
    yield waiting


@functools.cache
def _model() -> Any:
    import wordllama  # loads a tokenizer and 16 MB of weights: only on first use

    # The wheel keeps its tokenizer in `tokenizers`, a folder that the library looks for
    # in its cache only: the package itself serves as the cache.
    package = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(dim=DIMENSIONS, cache_dir=package, disable_download=True)
