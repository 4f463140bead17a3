"""Tables of every format, and what is wrong with files: a sentence each."""

import gzip
import io
import json
import zipfile
from dataclasses import asdict

import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import example, given
from hypothesis import strategies as st

from annotation.core.foreign import MB, ForeignFileError
from annotation.imports import mapping, readers, run, shape, tables
from annotation.imports.mapping import Mapping, MappingError
from annotation.imports.models import DataImport
from tests.core.hostile import sheet

ROWS = [{"id": 1, "prompt": "Why?", "note": "a"}, {"id": 2, "prompt": "How, then?", "note": ""}]


def read(path, encoding=""):
    with tables.opened(path, encoding) as table:
        return table.format, table.notes, [row for _line, row in table.rows()]


@pytest.fixture
def file(tmp_path):
    def write(content, name="mine"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def delimited(sign: str) -> str:
    lines = [["id", "prompt", "note"], ["1", "Why?", "a"], ["2", '"How, then?"', ""]]
    return "\n".join(sign.join(line) for line in lines) + "\n"


def texts(rows):
    return [{key: str(value) for key, value in row.items()} for row in rows]


def workbook(fill) -> bytes:
    book, data = openpyxl.Workbook(), io.BytesIO()
    fill(book.active)
    book.save(data)
    return data.getvalue()


def filled(sheet):
    for row in [list(ROWS[0]), *(list(row.values()) for row in ROWS)]:
        sheet.append(row)


def zipped(files: dict[str, bytes], level=zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", level) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def name_of(value) -> str:
    """A test's name: a file's bytes hold its time, and all workers must collect the same names."""
    short = isinstance(value, str) and len(value) < 80 and "\n" not in value
    return value if short else type(value).__name__


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (delimited(","), "csv"),
        (delimited(";"), "csv"),
        (delimited("\t"), "csv"),
        (b"\xef\xbb\xbf" + delimited(",").encode(), "csv"),
        (delimited(",").encode("utf-16"), "csv"),
        (delimited(",").encode("utf-16-le"), "csv"),
        ("\n".join(json.dumps(row) for row in ROWS), "jsonl"),
        (json.dumps(ROWS, indent=1), "json"),
        (json.dumps({"version": 1, "data": ROWS}, indent=1), "json"),
        (json.dumps(ROWS).encode("utf-16"), "json"),
        (workbook(filled), "xlsx"),
        (gzip.compress(delimited(",").encode(), mtime=0), "csv"),
        (zipped({"a/rows.csv": delimited(",").encode(), "__MACOSX/rows.csv": b"x"}), "csv"),
    ],
    ids=name_of,
)
def test_every_format_gives_the_same_rows(file, content, expected):
    format_, _notes, rows = read(file(content))
    assert format_ == expected
    assert [row["note"] or "" for row in rows] == ["a", ""]
    assert texts(rows) == texts(ROWS)


BRACKETS = readers.NESTED_LIMIT * b"["
LONG = b'[{"prompt": "' + 70_000 * b'[\\"{' + b'"}]'


@pytest.mark.parametrize(
    "content",
    [1000 * BRACKETS, b'{"data": ' + BRACKETS, b"[" + 70_000 * b'{"a": 1}, ' + BRACKETS],
    ids=["list", "object", "late"],
)
def test_brackets_without_end_are_refused_before_they_take_all_memory(file, content):
    with pytest.raises(ForeignFileError, match="nested too deeply"):
        read(file(content))


def test_brackets_in_texts_are_no_levels(file):
    (row,) = read(file(LONG))[2]
    assert row == {"prompt": 70_000 * '["{'}


def test_an_object_whose_line_has_no_end_is_read_in_pieces(file, tmp_path, monkeypatch):
    monkeypatch.setattr(readers.records, "LINE_LIMIT", 100)
    rows = [{"prompt": f"What is {n}?"} for n in range(20)]
    source = readers._open(file(json.dumps({"data": rows})), readers.Scratch(tmp_path, 2**20))
    assert (source.format, [row for _line, row in source.rows()]) == ("json", rows)


def test_parquet_gives_nested_values_and_times_as_text(tmp_path):
    when = pa.array([1_700_000_000], pa.timestamp("s"))
    table = pa.table({"turns": [["a", "b"]], "n": [1.0], "when": when})
    pq.write_table(table, tmp_path / "t")
    rows = read(tmp_path / "t")[2]
    assert rows == [{"turns": ["a", "b"], "n": 1, "when": "2023-11-14T22:13:20"}]


def test_an_unusual_separator_and_utf_16_are_named(file):
    assert read(file(delimited(";")))[1] == ["The columns are separated by: semicolon."]
    assert read(file(delimited(",").encode("utf-16")))[1] == ["The file is in UTF-16."]


def merged(sheet):
    filled(sheet)
    sheet.merge_cells("A2:A3")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "The file is empty."),
        (b"\x00\x00 \n", "The file is empty."),
        (b"<!DOCTYPE html><p>", "This is a web page or XML, not a table."),
        (b"%PDF-1.4", "This is a PDF, not a table."),
        (b"\xd0\xcf\x11\xe0aaaa", "This is an old Excel file"),
        (b"a,b,a\n1,2,3\n", "two columns are called “a”"),
        (b'[{"a": 1},', "The JSON is broken"),
        (b"PAR1 and nothing else", "The Parquet file is broken"),
        (b"\x1f\x8bxx", "The gzip file is broken"),
        (b"PK\x03\x04xx", "The zip file is broken"),
        (zipped({"a.csv": b"a", "b.csv": b"b"}), "The zip file holds 2 tables"),
        # The last of three is missing.
        (zipped({f"a-0000{n}-of-00003.csv": b"a" for n in (0, 1)}), "The zip file holds 2 tables"),
        (zipped({"bomb.csv": b"0" * 20_000_000}), "The file unfolds to far more than it is"),
        (gzip.compress(b"0" * 20_000_000, mtime=0), "The file unfolds to far more than it is"),
        (workbook(merged), "1 merged cells, the first in row 2, column 1"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "These are no characters"),
    ],
    ids=name_of,
)
def test_what_is_no_table_gets_a_sentence(file, content, words):
    with pytest.raises(ForeignFileError) as refusal:
        read(file(content))
    assert words in refusal.value.sentence


def test_formulas_in_a_csv_are_plain_text_and_those_in_excel_are_their_value(file):
    assert read(file('prompt\n"=1+1"\n'))[2] == [{"prompt": "=1+1"}]

    def formula(sheet):
        sheet.append(["prompt", "n"])
        sheet.append(["Why?", "=1+1"])

    # A program that computed nothing stored no value.
    assert read(file(workbook(formula)))[2][0]["prompt"] == "Why?"


def test_bytes_that_are_no_text_spoil_their_own_row(file):
    rows = read(file(b"prompt,x\n\xff\xfe,1\ngood,2\n"))[2]
    shaped = Mapping({"prompt": ("prompt",)})
    with pytest.raises(shape.RowError, match="holds bytes that are no text"):
        shape.shape(rows[0], shaped)
    assert shape.shape(rows[1], shaped).prompt == "good"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("a", {"b": [{"c": 1}, {"c": 2}]}),
        ("a.b[0].c", 1),
        ("a.b[-1].c", 2),
        ("a.b[].c", [1, 2]),
        ("a.b[7].c", None),
        ("x.y", 9),
        ("x.z[].c", [3]),
        ("a.z", None),
    ],
)
def test_a_place_inside_a_record(path, value):
    joined = {"x": "7", "x.y": 9, "x.z": [{"c": 3}]}
    assert mapping.value_at({"a": {"b": [{"c": 1}, {"c": 2}]}} | joined, path) == value


def test_places_inside_a_joined_column_are_offered():
    assert list(mapping.leaves({"x": "7", "x.z": [{"c": 3}]})) == ["x", "x.z", "x.z[].c"]


ANYTHING = st.none() | st.integers() | st.text(max_size=8) | st.lists(st.text(max_size=3))


@given(
    st.dictionaries(st.sampled_from(list(mapping.TARGETS)), st.text(max_size=8), max_size=5),
    st.dictionaries(
        st.sampled_from(["classes", "level", "depth", "values"]),
        ANYTHING | st.dictionaries(st.text(max_size=3), ANYTHING),
    ),
)
@example({"prompt": "p"}, {"classes": [1]})
@example({"prompt": "p"}, {"level": ["nominal"]})
@example({"prompt": "p"}, {"depth": "2"})
def test_any_mapping_is_taken_or_refused_with_a_sentence(columns, settings):
    try:
        read_ = Mapping.from_json({"columns": columns} | settings)
    except MappingError as refusal:
        assert refusal.sentence
    else:
        assert Mapping.from_json(asdict(read_)) == read_


@given(st.dictionaries(st.sampled_from(["p", "a", "b", "w", "l"]), st.none() | st.integers()
       | st.text(max_size=9) | st.lists(st.text(max_size=3), max_size=3)))  # fmt: skip
@example({"p": 0, "a": 0, "b": 1, "w": 0, "l": "a>b"})
def test_any_row_is_shaped_or_refused_with_a_sentence(record):
    columns = {"prompt": "p", "answer_a": "a", "answer_b": "b", "worker": "w", "label": "l"}
    try:
        row = shape.shape(record, Mapping({key: (name,) for key, name in columns.items()}))
    except shape.RowError as fault:
        assert fault.sentence
    else:
        assert len(row.answers) == 2 and row.votes[0].label in ("1", "2", "tie", "none")


UNFOLDS = "The file unfolds to far more than it is"
FAR = "of its cells hold anything: delete what stands far away from the table"


def test_what_is_long_or_wide_within_the_limits_is_read(file):
    names = [f"c{n}" for n in range(1_000)]
    rows = [[f"{n}.{name}" for name in names] for n in range(20)]
    text = "\n".join(map(",".join, [names, *rows])) + "\n"
    assert [list(row.values()) for row in read(file(text))[2]] == rows
    lines = [json.dumps({"text": size * "x"}) for size in (999_000, 1_000_001)]
    row, reason = read(file("\n".join(lines)))[2]
    assert len(row["text"]) == 999_000
    assert reason == "the cell “text” is longer than 1,000,000 characters, the limit"


@pytest.mark.parametrize(
    ("setting", "limit", "words"),
    [
        ("IMPORT_CELLS", 3, "The table has more than 3 cells, the limit."),
        ("IMPORT_COLUMNS", 1, "The table has more than 1 columns, the limit."),
        ("IMPORT_UNPACKED_BYTES", 30, UNFOLDS),
    ],
)
def test_every_limit_is_a_setting(file, settings, setting, limit, words):
    setattr(settings, setting, limit)
    with pytest.raises(ForeignFileError, match=words):
        read(file("prompt,need\nWhy?,a\nHow?,b\n"))


def test_memory_and_processor_time_are_settings(file, settings):
    settings.IMPORT_MEMORY_BYTES = 40 * MB
    words = "takes more than 40 MB of memory, the limit for its size."
    with pytest.raises(ForeignFileError, match=words):
        read(file(json.dumps([{"text": 60 * MB * "x"}], indent=1)))
    settings.IMPORT_MEMORY_BYTES, settings.IMPORT_SECONDS = 1024 * MB, 1
    words = "Reading the file takes more than 1 seconds, the limit for its size."
    with pytest.raises(ForeignFileError, match=words):
        read(file("prompt,need\n" + 2_000_000 * "x,y\n"))


def test_pages_and_api_read_no_table(carol, tea, monkeypatch):
    def read(*arguments):
        raise AssertionError("a web request reads a foreign table")

    monkeypatch.setattr(tables, "opened", read)
    file = SimpleUploadedFile("t.xlsx", sheet("A1", "XFD1048576"))
    address = carol.post("/studies/tea/data/", {"file": file}).url
    assert "A worker reads what the file begins with." in carol.get(address).content.decode()
    api = f"/api/v1/studies/tea/imports/{DataImport.objects.get().pk}/start/"
    assert carol.post(api, "{}", content_type="application/json").status_code == 202
    monkeypatch.undo()
    row = run.run(DataImport.objects.get().pk)
    assert (row.status, FAR in row.error) == ("failed", True)
    assert FAR in carol.get(address).content.decode()


def test_the_page_waits_for_the_worker_and_then_shows_the_mapping(carol, tea):
    file = SimpleUploadedFile("t.csv", b"prompt\nWhy?\n")
    sent = carol.post("/studies/tea/data/", {"file": file})
    part = {"headers": {"HX-Request": "true"}}
    waiting = carol.get(sent.url, **part)
    assert 'hx-trigger="every 2s"' in waiting.content.decode()
    assert "HX-Refresh" not in waiting
    run.run(DataImport.objects.get().pk)
    assert carol.get(sent.url, **part)["HX-Refresh"] == "true"
    assert "The first rows as they would come in" in carol.get(sent.url).content.decode()


WESTERN = "prénom,prompt\r\nZoë,“Why?” – 5 €\r\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (WESTERN.encode("cp1252"), "cp1252"),
        (WESTERN.encode("mac-roman"), "mac-roman"),
        (WESTERN.encode("utf-16-be"), "utf-16-be"),
        # Its mark says what it is in.
        (WESTERN.encode("utf-16"), "cp1252"),
        (WESTERN.encode("utf-8-sig"), "cp1252"),
        (gzip.compress(WESTERN.encode("cp1252"), mtime=0), "cp1252"),
        (json.dumps([{"prénom": "Zoë", "prompt": "“Why?” – 5 €"}], ensure_ascii=False)
         .encode("cp1252"), "cp1252"),
    ],
    ids=name_of,
)  # fmt: skip
def test_an_encoding_that_is_named_gives_the_text(file, content, encoding):
    assert read(file(content), encoding)[2] == [{"prénom": "Zoë", "prompt": "“Why?” – 5 €"}]


@pytest.mark.parametrize(
    "content",
    [
        WESTERN.encode("cp1252"),
        '{"prompt": "Zoë"}\n'.encode("cp1252"),
        '[{"prompt": "Zoë"}]'.encode("cp1252"),
        '{"rows": [{"prompt": "Zoë"}]}'.encode("cp1252"),
    ],
    ids=name_of,
)
def test_no_encoding_is_guessed_and_the_reason_names_the_way_out(file, content):
    (reason,) = read(file(content))[2]
    assert reason.startswith("the bytes are not UTF-8 text: choose the file's encoding")


def test_bytes_that_the_named_encoding_has_not_refuse_the_file(file):
    with pytest.raises(ForeignFileError, match="The file is not text in Windows-1252"):
        read(file(b"prompt\n\x81\n"), "cp1252")
