"""Between NumPy and Arrow by their buffers.

Arrow's own conversions import pandas where it is installed, which takes longer than reading a
million votes.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def to_numpy(column: pa.Array) -> np.ndarray:
    """Values of an Arrow column of whole numbers or truth values without gaps, as NumPy."""
    if pa.types.is_boolean(column.type):
        return to_numpy(pc.cast(column, pa.uint8())).view(bool)
    kind = np.dtype(str(column.type))
    values = np.frombuffer(column.buffers()[1], dtype=kind, count=column.offset + len(column))
    return values[column.offset :]


def from_numpy(values: np.ndarray) -> pa.Array:
    """An Arrow column over a NumPy array of int32, int64 or float64; nothing is copied."""
    kind = {"int32": pa.int32(), "int64": pa.int64(), "float64": pa.float64()}
    values = np.ascontiguousarray(values)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(kind[values.dtype.name], len(values), buffers)


def from_text(texts: Iterable[str]) -> pa.Array:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pc.cast(pa.Array.from_buffers(pa.large_string(), len(encoded), buffers), pa.string())


def constant(text: str) -> pa.Scalar:
    return from_text([text])[0]
