"""The one reader of JSON lines and CSV: records, line numbers, faults."""

import csv
import io
import json

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from annotation.core import records

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


def rows(data: bytes, **options):
    return list(records.read_records(io.BytesIO(data), **options))


def test_json_lines_and_csv_give_the_same_records():
    lines = b'{"a": "1", "b": "x"}\n\n{"a": "2", "b": "y"}\n'
    table = b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n"
    assert [row for _, row in rows(lines)] == [row for _, row in rows(table)]
    assert [line for line, _ in rows(lines)] == [1, 3]
    assert [line for line, _ in rows(table)] == [2, 3]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"a": ', "broken JSON (Expecting value, column 6)"),
        (b"[1]", "not a JSON object"),
        (b'{"a": "\\u0000"}', "the line holds a NUL character"),
        (b'{"a": "\\ud800"}', "the line holds half of a surrogate pair"),
        (b'{"a": "\xff"}', "the bytes are not UTF-8 text"),
        (b'{"a": 1e999}', "the line holds a number that is too large"),
        (b'{"a": NaN}', "the line holds NaN, which is not JSON"),
        (b'{"a": ' + b"[" * 60_000, "the line is nested deeper than 20 levels"),
    ],
)
def test_a_broken_line_is_named_and_the_next_is_read(line, words):
    assert rows(b'{"a": 1}\n' + line + b'\n{"a": 2}') == [(1, {"a": 1}), (2, words), (3, {"a": 2})]


def test_a_line_over_the_limit_ends_the_reading():
    data = io.BytesIO(b'{"a": 1}\n' + b" " * 20 + b'\n{"a": 2}\n')
    assert list(records.json_lines(data, limit=12)) == [
        (1, {"a": 1}),
        (2, "the line is longer than 12 bytes; no more was read"),
    ]


def test_a_row_with_another_number_of_fields_is_named_by_its_first_line():
    assert rows(b'a,b\n1,"x\ny"\n1\n2,z\n') == [
        (2, {"a": "1", "b": "x\ny"}),
        (4, "1 field where the header has 2"),
        (5, {"a": "2", "b": "z"}),
    ]


def test_a_file_without_anything_and_a_refused_header_are_no_files():
    def refuse(header):
        raise ValueError(f"no column b in {header}")

    with pytest.raises(records.RecordsError, match="line 1: the file is empty"):
        rows(b" \n ")
    with pytest.raises(records.RecordsError, match=r"line 2: no column b in \['a'\]"):
        rows(b"\na\n1\n", check_header=refuse)


@given(st.lists(st.dictionaries(TEXT, TEXT, min_size=1, max_size=4), max_size=6))
def test_whatever_json_writes_is_read_again(objects):
    data = "\n".join(json.dumps(one) for one in objects).encode()
    assert [row for _, row in records.json_lines(io.BytesIO(data))] == objects


@given(st.lists(st.tuples(TEXT, TEXT.filter(str.strip)), min_size=1, max_size=6))
def test_whatever_csv_writes_is_read_again(pairs):
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("a", "b"), *pairs])
    got = [row for _, row in records.csv_rows(io.BytesIO(text.getvalue().encode()))]
    assert got == [{"a": a, "b": b} for a, b in pairs]


def test_what_is_wrong_with_a_row_is_said_in_the_readers_language():
    with translation.override("es"):
        rows = list(records.read_records(io.BytesIO(b"a,b\n1\n")))
        broken = list(records.read_records(io.BytesIO(b'{"a": \n{"a": NaN}\n')))
    assert rows == [(2, "1 campo donde el encabezado tiene 2")]
    assert [words for _line, words in broken] == [
        "JSON dañado (se espera un valor, columna 6)",
        "la línea contiene NaN, que no es JSON",
    ]
