import csv
import io
import json

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.datasets.check import check_release
from annotation.datasets.writers import ROW_GROUP, Table, Tables, json_text

COLUMNS = {
    "a": "text",
    "number": "number",
    "whole": "integer",
    "yes": "boolean",
    "list": "texts",
    "any": "json",
}
# What PostgreSQL can store: no NUL, no half of a surrogate pair.
plain = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
awkward = st.sampled_from(
    ["=1+1", "-2", "+3", "@x", "\tx", "\rx", '"', 'a""b', ",", "\r\n", "\n", "한국어", "简体中文"]
)
texts = st.builds(str.__add__, awkward, plain) | plain
rows = st.fixed_dictionaries(
    {
        "a": texts,
        "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "whole": st.none() | st.integers(-(2**63), 2**63 - 1),
        "yes": st.booleans(),
        "list": st.lists(texts, max_size=3),
        "any": st.dictionaries(texts, texts | st.none(), max_size=2),
    }
)


few = settings(deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tables")


def write(folder, format, rows, **options):
    with Tables(folder, {"t": Table(f"t.{format}", format, COLUMNS)}, **options) as tables:
        for row in rows:
            tables.write("t", row)
    (entry,) = tables.files()
    (folder / "manifest.json").write_text(json.dumps({"files": [entry]}))
    return entry, (folder / f"t.{format}").read_bytes()


def cells(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8"), newline=""), strict=True))


@few
@given(st.lists(rows, max_size=4))
def test_json_lines_give_back_every_row(folder, rows):
    entry, data = write(folder / "jsonl", "jsonl", rows)
    assert [json.loads(line) for line in data.decode("utf-8").split("\n")[:-1]] == rows
    assert entry["rows"] == len(rows)
    assert check_release(folder / "jsonl") == []


@few
@given(st.lists(rows, max_size=4))
def test_csv_gives_back_every_cell_exactly(folder, rows):
    entry, data = write(folder / "csv", "csv", rows)
    expected = [
        [
            value if name == "a" else "" if value is None else json_text(value)
            for name, value in ((name, row[name]) for name in COLUMNS)
        ]
        for row in rows
    ]
    assert cells(data) == [list(COLUMNS), *expected]
    assert entry["rows"] == len(rows)
    assert check_release(folder / "csv") == []


@few
@given(st.lists(rows, max_size=4))
def test_parquet_gives_back_every_row(folder, rows):
    entry, _ = write(folder / "parquet", "parquet", rows)
    back = pq.read_table(folder / "parquet" / "t.parquet").to_pylist()
    assert [r | {"any": json.loads(r["any"])} for r in back] == rows
    assert entry["rows"] == len(rows)
    assert check_release(folder / "parquet") == []


@few
@given(texts)
def test_a_safe_csv_holds_no_formula_and_loses_only_its_apostrophe(folder, text):
    row = {"a": text, "number": -1.5, "whole": -2, "yes": True, "list": [text], "any": {}}
    _, data = write(folder / "safe", "csv", [row], safe_csv=True)
    cell, number, whole = cells(data)[1][:3]
    assert not cell.startswith(tuple("=+-@\t\r\n＝＋－＠"))
    assert cell.removeprefix("'") == text or cell == text
    # Numbers are no formulas.
    assert (number, whole) == ("-1.5", "-2")


def test_parquet_comes_in_row_groups(tmp_path):
    row = {"a": "x", "number": 1.0, "whole": 1, "yes": True, "list": [], "any": None}
    write(tmp_path, "parquet", [row] * (ROW_GROUP + 1))
    assert pq.ParquetFile(tmp_path / "t.parquet").metadata.num_row_groups == 2


def test_a_number_that_json_does_not_have_is_refused(tmp_path):
    with pytest.raises(ValueError, match="not JSON compliant"):
        write(tmp_path, "jsonl", [{"a": float("nan")}])
