"""Limits of foreign tables: settings, and who reads them."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.core.foreign import MB, ForeignFileError
from annotation.imports import run, tables
from annotation.imports.models import DataImport
from tests.core.hostile import sheet

UNFOLDS = "The file unfolds to far more than it is"
FAR = "of its cells hold anything: delete what stands far away from the table"


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
    with pytest.raises(ForeignFileError, match=words), tables.opened(path) as table:
        list(table.rows())


def test_memory_and_processor_time_are_settings(tmp_path, settings):
    path = tmp_path / "table"
    path.write_text(json.dumps([{"text": 60 * MB * "x"}], indent=1))
    settings.IMPORT_MEMORY_BYTES = 40 * MB
    words = "takes more than 40 MB of memory, the limit for its size."
    with pytest.raises(ForeignFileError, match=words), tables.opened(path) as table:
        list(table.rows())
    settings.IMPORT_MEMORY_BYTES, settings.IMPORT_SECONDS = 1024 * MB, 1
    path.write_text("prompt,need\n" + 2_000_000 * "x,y\n")
    words = "Reading the file takes more than 1 seconds, the limit for its size."
    with pytest.raises(ForeignFileError, match=words), tables.opened(path) as table:
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
