"""Rows by column, as JSON texts: a million votes pass without a Python object for each. Pure."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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

    def take(self, rows: np.ndarray) -> "Columns":
        """The rows of these numbers."""
        places = pa.array(rows)
        return Columns({name: texts.take(places) for name, texts in self.texts.items()})

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
        return joined([*parts, "}\n"], "null")

    def values(self, name: str) -> list:
        """The values of a column."""
        return parsed(self.texts[name])

    def arrow(self, schema: pa.Schema, texts: set[str]) -> pa.Table:
        """The columns of ``schema``, parsed; those of ``texts`` stay JSON."""
        arrays = [
            self.texts[field.name] if field.name in texts else self._parsed(field.name, field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _parsed(self, name: str, kind: pa.DataType) -> pa.Array:
        """The column as Arrow's ``kind``; what is there twice is parsed once.

        Arrow's own reader of JSON takes five times as long for judgments.
        """
        encoded = self.texts[name].dictionary_encode()
        return pa.array(parsed(encoded.dictionary), kind).take(encoded.indices)


def joined(parts: list, null: str) -> memoryview:
    """Columns of texts and words between them, row after row in UTF-8; ``null`` for none."""
    lines = pc.binary_join_element_wise(*parts, "", null_handling="replace", null_replacement=null)
    ends = np.frombuffer(lines.buffers()[1], dtype=np.int32)
    return memoryview(lines.buffers()[2])[: ends[len(lines)]]


def parsed(texts: pa.Array) -> list:
    """The values of JSON texts, None for null."""
    return json.loads(f"[{','.join(filled(texts).to_pylist())}]")


def filled(texts: pa.Array) -> pa.Array:
    """``texts`` with the JSON null for null."""
    return pc.fill_null(texts, "null")


def json_texts(words: pa.Array) -> pa.Array:
    """Words without quotes and control characters as JSON; null stays null."""
    return pc.binary_join_element_wise('"', words, '"', "")


def json_lists(values: pa.Array, ends: np.ndarray) -> pa.Array:
    """JSON lists of the ``values``; list n is of those from ``ends[n]`` to ``ends[n + 1]``."""
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values)
    return pc.binary_join_element_wise("[", pc.binary_join(lists, ", "), "]", "")


def ends_of(sizes: np.ndarray) -> np.ndarray:
    """Where lists of these sizes begin, one behind the other, and where the last ends."""
    return np.concatenate([[0], np.cumsum(sizes)])


def mapped(words: pa.Array, make: Callable[[str], str | None]) -> pa.Array:
    """``make`` of each of the ``words``, called once for equal ones."""
    encoded = words.dictionary_encode()
    return pa.array(map(make, encoded.dictionary.to_pylist()), pa.string()).take(encoded.indices)


def mapped_values(texts: pa.Array, make: Callable[[Any], str]) -> pa.Array:
    """``make`` of the value of each of the JSON ``texts``, called once for equal ones."""
    encoded = texts.dictionary_encode()
    return pa.array(map(make, parsed(encoded.dictionary)), pa.string()).take(encoded.indices)


def mapped_by_place(
    words: pa.Array, place: np.ndarray, make: Callable[[str, int], str | None]
) -> pa.Array:
    """``make(word, place)`` of each row, called once for equal rows."""
    encoded = words.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    keys = place * len(names) + encoded.indices.to_numpy()
    different, where = np.unique(keys, return_inverse=True)
    made = [make(names[key % len(names)], key // len(names)) for key in different.tolist()]
    return pa.array(made, pa.string()).take(pa.array(where))
