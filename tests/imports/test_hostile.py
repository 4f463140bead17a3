"""Hostile tables of every format: each is refused in words, quickly, and in little memory."""

import gzip
import io
import json
import subprocess
import sys
import time
import zipfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.imports import run, tables
from annotation.imports.limits import MB, Limits, TableError
from annotation.imports.models import DataImport

# Far more than they take, and far less than what such files took before.
SECONDS, MEMORY = 20, 100 * MB
SPREADSHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
UNFOLDS = "The file unfolds to far more than it is"
NEEDS = " MB of memory, the limit for its size."
FAR = "of its cells hold anything: delete what stands far away from the table"
WIDE = "The table has more than 1,000 columns, the limit."
DEEP = "nested too deeply"


def zipped(**files) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def excel(rows: str, shared: str = "") -> bytes:
    """A workbook of one sheet with these rows, and one shared string."""
    kinds = {"worksheet": "worksheets/sheet1.xml", "sharedStrings": "sharedStrings.xml"}
    links = "".join(
        f'<Relationship Id="r{number}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(kinds.items())
    )
    sheets = '<sheets><sheet name="s" sheetId="1" r:id="r0"/></sheets>'
    office = f'<Relationship Id="r0" Type="{RELATIONS}/officeDocument" Target="xl/workbook.xml"/>'
    files = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}">{office}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{SPREADSHEET}" xmlns:r="{RELATIONS}">{sheets}'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{links}</Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{SPREADSHEET}"><sheetData>{rows}'
        "</sheetData></worksheet>",
        "xl/sharedStrings.xml": f'<sst xmlns="{SPREADSHEET}"><si><t>{shared}</t></si></sst>',
    }
    return zipped(**files)


def cell(place: str) -> str:
    return f'<c r="{place}" t="s"><v>0</v></c>'


def sheet(*places: str, shared: str = "prompt") -> bytes:
    rows = "".join(f"<row>{cell(place)}</row>" for place in places)
    return excel(rows, shared)


def parquet(**columns) -> bytes:
    data = io.BytesIO()
    pq.write_table(pa.table(columns), data, compression="zstd")
    return data.getvalue()


ONE = "<c><v>1</v></c>"
WORD = 200_000 * "x"
COLUMNS = 60_000
WIDE_CSV = ",".join(f"c{n}" for n in range(COLUMNS)) + "\n" + COLUMNS * "1," + "1\n"
HOSTILE = {
    "csv with 60,000 columns": (WIDE_CSV.replace("1,1\n", "1\n"), WIDE),
    "json line with 60,000 keys": (json.dumps({f"c{n}": 1 for n in range(COLUMNS)}), WIDE),
    "json lines with a new key each": ("\n".join(f'{{"c{n}": 1}}' for n in range(2_000)), WIDE),
    "json list with 60,000 keys": (json.dumps([{f"c{n}": 1 for n in range(COLUMNS)}]), WIDE),
    "brackets without end": (100_000 * "[", DEEP),
    "braces without end": (100_000 * '{"a":', DEEP),
    "brackets after escaped quotes": ('[{"a": "' + 200_000 * '\\"[' + '"}, ' + 200 * "[", DEEP),
    "json text of 30 MB in a gzip": (gzip.compress(b'["' + 30 * MB * b"x" + b'"]'), UNFOLDS),
    "gzip of nothing": (gzip.compress(20 * MB * b"0"), UNFOLDS),
    "zip of nothing": (zipped(**{"rows.csv": 20 * MB * b"0"}), UNFOLDS),
    "xlsx with a cell in row 1,000,000": (sheet("A1", "A2", "AZ1000000"), FAR),
    "xlsx with the farthest cell": (sheet("A1", "XFD1048576"), FAR),
    "xlsx whose far row names no cell": (
        excel(f'<row r="1">{ONE}</row><row r="1048576">{16_000 * ONE}</row>'),
        NEEDS,
    ),
    "xlsx with a shared text": (sheet(*(f"A{n}" for n in range(1, 4_001)), shared=WORD), NEEDS),
    "xlsx of 300 MB": (excel("", shared=300 * MB * "x"), "The Excel file is too large"),
    "parquet with one word": (parquet(prompt=8_000 * [WORD]), UNFOLDS),
    "parquet with lists of one word": (parquet(prompt=1_000 * [8 * [WORD]]), NEEDS),
    "parquet of one long text": (parquet(prompt=[50 * MB * "x"]), NEEDS),
    "parquet in a gzip": (gzip.compress(parquet(prompt=8_000 * [WORD])), UNFOLDS),
    "parquet with 1,001 columns": (parquet(**{f"c{n}": [1] for n in range(1_001)}), WIDE),
}
# Starts its arguments as a process, and prints the most memory that it took.
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.fixture
def hostile(tmp_path, request):
    content = HOSTILE[request.param][0]
    path = tmp_path / "hostile"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("hostile", HOSTILE, indirect=True)
def test_a_hostile_table_is_refused_in_words_soon_and_in_little_memory(hostile, request):
    words = HOSTILE[request.node.callspec.params["hostile"]][1]
    began = time.monotonic()
    with pytest.raises(TableError) as refusal, tables.opened(hostile) as table:
        for _row in table.rows():
            pass
    assert time.monotonic() - began < SECONDS
    assert words in refusal.value.sentence


@pytest.mark.parametrize("hostile", HOSTILE, indirect=True)
def test_the_process_that_reads_a_hostile_table_stays_small(hostile, tmp_path):
    command = tables.command(hostile, tmp_path, Limits.of(hostile.stat().st_size))
    # From a small process: what this one has taken would count as the child's.
    measured = subprocess.run(
        [sys.executable, "-c", MEASURE, *command],
        cwd=tables.HOME,
        env=tables.ENVIRONMENT,
        stdout=subprocess.PIPE,
        check=True,
    )
    assert int(measured.stdout) * 1024 < MEMORY


def test_what_is_long_or_wide_within_the_limits_is_read(tmp_path):
    path = tmp_path / "table"
    names = [f"c{n}" for n in range(1_000)]
    rows = [[f"{n}.{name}" for name in names] for n in range(20)]
    path.write_text("\n".join(map(",".join, [names, *rows])) + "\n")
    with tables.opened(path) as table:
        assert [list(row.values()) for _line, row in table.rows()] == rows
    path.write_text(
        json.dumps({"text": 999_000 * "x"}) + "\n" + json.dumps({"text": 1_000_001 * "x"})
    )
    with tables.opened(path) as table:
        (_one, row), (line, reason) = table.rows()
    assert len(row["text"]) == 999_000
    words = "the cell “text” is longer than 1,000,000 characters, the limit"
    assert (line, reason) == (2, words)


@pytest.mark.parametrize(
    ("setting", "limit", "words"),
    [
        ("IMPORT_CELLS", 3, "The table has more than 3 cells, the limit."),
        ("IMPORT_COLUMNS", 1, "The table has more than 1 columns, the limit."),
        ("IMPORT_UNPACKED_BYTES", 30, UNFOLDS),
    ],
)
def test_every_limit_is_a_setting(tmp_path, settings, setting, limit, words):
    path = tmp_path / "table"
    path.write_text("prompt,need\nWhy?,a\nHow?,b\n")
    setattr(settings, setting, limit)
    with pytest.raises(TableError, match=words), tables.opened(path) as table:
        list(table.rows())


def test_memory_and_processor_time_are_settings(tmp_path, settings):
    path = tmp_path / "table"
    path.write_text(json.dumps([{"text": 60 * MB * "x"}], indent=1))
    settings.IMPORT_MEMORY_BYTES = 40 * MB
    words = "takes more than 40 MB of memory, the limit for its size."
    with pytest.raises(TableError, match=words), tables.opened(path) as table:
        list(table.rows())
    settings.IMPORT_MEMORY_BYTES, settings.IMPORT_SECONDS = 1024 * MB, 1
    path.write_text("prompt,need\n" + 2_000_000 * "x,y\n")
    words = "Reading the file takes more than 1 seconds, the limit for its size."
    with pytest.raises(TableError, match=words), tables.opened(path) as table:
        for _row in table.rows():
            pass


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
    sent = carol.post(
        "/studies/tea/data/", {"file": SimpleUploadedFile("t.csv", b"prompt\nWhy?\n")}
    )
    part = {"headers": {"HX-Request": "true"}}
    waiting = carol.get(sent.url, **part)
    assert ('hx-trigger="every 2s"' in waiting.content.decode(), "HX-Refresh" in waiting) == (
        True,
        False,
    )
    run.run(DataImport.objects.get().pk)
    assert carol.get(sent.url, **part)["HX-Refresh"] == "true"
    assert "The first rows as they would come in" in carol.get(sent.url).content.decode()
