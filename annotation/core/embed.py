"""Sentence embeddings on the CPU, from weights inside the wordllama wheel; nothing is fetched."""

import functools
from pathlib import Path

import numpy as np

DIMENSIONS = 256


def embed(texts: list[str]) -> np.ndarray:
    """Return one float32 row of 256 numbers for each text, of Euclidean length 1.

    The dot product of two rows is their cosine similarity. An empty list gives shape (0, 256).
    """
    if not texts:
        return np.empty((0, DIMENSIONS), dtype=np.float32)
    rows = np.asarray(_model().embed(texts, norm=False), dtype=np.float32)
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)


@functools.cache
def _model():
    import wordllama  # loads a tokenizer and 16 MB of weights: only on first use

    # The wheel keeps its tokenizer in `tokenizers`, a folder that the library looks for
    # in its cache only: the package itself serves as the cache.
    package = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(dim=DIMENSIONS, cache_dir=package, disable_download=True)
