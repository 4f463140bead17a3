"""Rows by column, as JSON texts: a million votes pass without a Python object for each. Pure."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

# Made once: json.dumps would make one for each row. No value of a release is in itself.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)


def json_text(value: object) -> str:
    """One line of JSON, other scripts than Latin as they are."""
    return _ENCODER.encode(value)


@dataclass(frozen=True)
class Columns:
    """Rows of a table: ``texts`` is {column: its values as JSON}, null for none."""

    texts: dict[str, pa.Array]

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))

    def filter(self, mask: np.ndarray) -> "Columns":
        """The rows where ``mask`` is true."""
        chosen = pa.array(mask)
        return Columns({name: texts.filter(chosen) for name, texts in self.texts.items()})

    def slice(self, start: int, most: int) -> "Columns":
        """At most ``most`` rows from ``start`` on."""
        return Columns({name: texts.slice(start, most) for name, texts in self.texts.items()})

    def packed(self) -> pa.Buffer:
        """The rows as bytes that are the same for the same rows."""
        return pa.record_batch(list(self.texts.values()), list(self.texts)).serialize()

    def json_lines(self) -> memoryview:
        """The rows as JSON lines in UTF-8."""
        parts: list = []
        for name, texts in self.texts.items():
            parts += [f"{', ' if parts else '{'}{json_text(name)}: ", texts]
        options = {"null_handling": "replace", "null_replacement": "null"}
        lines = pc.binary_join_element_wise(*parts, "}\n", "", **options)
        ends = np.frombuffer(lines.buffers()[1], dtype=np.int32)
        return memoryview(lines.buffers()[2])[: ends[len(lines)]]

    def values(self, name: str) -> list:
        """The values of a column."""
        return json.loads(f"[{','.join(_filled(self.texts[name]).to_pylist())}]")

    def arrow(self, schema: pa.Schema, texts: set[str]) -> pa.Table:
        """The columns of ``schema``, parsed; those of ``texts`` stay JSON."""
        arrays = [
            self.texts[field.name] if field.name in texts else self._parsed(field.name, field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _parsed(self, name: str, kind: pa.DataType) -> pa.Array:
        """The column as Arrow's ``kind``; what is there twice is parsed once."""
        encoded = _filled(self.texts[name]).dictionary_encode()
        different = json.loads(f"[{','.join(encoded.dictionary.to_pylist())}]")
        return pa.array(different, kind).take(encoded.indices)


def _filled(texts: pa.Array) -> pa.Array:
    return pc.fill_null(texts, "null")


def spread(values: Iterable[str | None], place: np.ndarray) -> pa.Array:
    """The texts ``values``, each as often as its place is in ``place``."""
    return pa.array(values, pa.string()).take(pa.array(place))


def mapped(words: pa.Array, make: Callable[[str], str | None]) -> pa.Array:
    """``make`` of each of the ``words``, called once for equal ones."""
    encoded = words.dictionary_encode()
    return pa.array(map(make, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


def mapped_by_place(
    words: pa.Array, place: np.ndarray, make: Callable[[str, int], str | None]
) -> pa.Array:
    """``make(word, place)`` of each row, called once for equal rows."""
    encoded = words.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    keys = place * len(names) + encoded.indices.to_numpy()
    different, where = np.unique(keys, return_inverse=True)
    made = [make(names[key % len(names)], key // len(names)) for key in different.tolist()]
    return spread(made, where)
