"""Tables give back what was written, in one file or several, also where a writer was killed."""

import csv
import io
import json
import shutil
from datetime import timedelta

import pyarrow.parquet as pq
import pytest
from django.core.management import call_command
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.core.errors import DomainError
from annotation.datasets import choices, folders, freeze, writers
from annotation.datasets.check import check_release, compare
from annotation.datasets.models import Release
from annotation.datasets.release_import import import_release
from annotation.datasets.writers import JOURNAL, ROW_GROUP, Journal, Table, Tables, json_text
from annotation.evaluation import pairs
from annotation.judging.models import Judgment
from tests.datasets.conftest import every_byte, written_again
from tests.datasets.test_opening import load
from tests.processes import die, killed

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


def read_back(folder, format, data):
    """The written rows, of a CSV its cells."""
    if format == "jsonl":
        return [json.loads(line) for line in data.decode("utf-8").split("\n")[:-1]]
    if format == "csv":
        return cells(data)
    read = pq.read_table(folder / "t.parquet").to_pylist()
    return [row | {"any": json.loads(row["any"])} for row in read]


def cell_of(value):
    return value if isinstance(value, str) else "" if value is None else json_text(value)


@pytest.mark.parametrize("format", ["jsonl", "csv", "parquet"])
@few
@given(rows=st.lists(rows, max_size=4))
def test_every_row_comes_back_exactly(folder, format, rows):
    entry, data = write(folder / format, format, rows)
    expected = [list(COLUMNS), *([cell_of(row[name]) for name in COLUMNS] for row in rows)]
    assert read_back(folder / format, format, data) == (expected if format == "csv" else rows)
    assert entry["rows"] == len(rows)
    assert check_release(folder / format) == []


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


@pytest.fixture
def judged(tea, panel, monkeypatch):
    """30 judgments on four items, in shards of seven rows where they are asked for."""
    monkeypatch.setattr(choices, "FEWEST_SHARD_ROWS", 1)
    panel("1" * 9, "2" * 9, "1" * 8 + "2", "112", reason="Because, “so”.")
    return tea


def shards(folder, name):
    return sorted(path.name for path in folder.glob(f"{name}-*"))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_table_goes_on_in_another_file_and_opens_as_one(judged, built, tmp_path, format):
    release = built("long", format, shard_rows=7)
    folder = folders.folder_of(release)
    assert shards(folder, "judgments") == [f"judgments-0000{n}.{format}" for n in range(5)]
    assert shards(folder, "attributes") == [f"attributes-00000.{format}"]
    rows = {entry["path"]: entry["rows"] for entry in release.manifest["files"]}
    assert [rows[name] for name in shards(folder, "judgments")] == [7, 7, 7, 7, 2]
    assert (rows["votes.csv"], release.manifest["rules"]["shard_rows"]) == (30, 7)
    assert check_release(folder) == []
    assert not (folder / JOURNAL).exists()
    opened, whole, _splits = load(folder, tmp_path)
    expected = {"judgments": 30, "answers": 30, "items": 4, "candidates": 8}
    expected |= {"personas": 1, "soft_labels": 4}
    assert opened == whole == expected


def test_shards_hold_the_rows_of_the_whole_table(judged, built):
    release = built("long", "jsonl", shard_rows=7)
    folder = folders.folder_of(release)
    split = {
        name: b"".join((folder / part).read_bytes() for part in shards(folder, name))
        for name in ("judgments", "answers", "items", "candidates", "personas")
    }
    release.frozen["choices"]["shard_rows"] = 0
    whole = written_again(release, folder.parent / "whole")
    assert {name: whole[f"{name}.jsonl"] for name in split} == split
    assert compare(folder, folder.parent / "whole")["tables"] == {}


def test_a_release_in_shards_becomes_a_study_and_a_benchmark(judged, built, tmp_path):
    folder = folders.folder_of(built("long", "parquet", shard_rows=7))
    shutil.copytree(folder, tmp_path / "long")
    counts = import_release(tmp_path / "long", "again")
    assert (counts["items"], counts["votes"], counts["rejected"]) == (4, 30, [])
    folder = folders.folder_of(built("dpo", "jsonl", shard_rows=1, rule="majority"))
    assert shards(folder, "pairs") == [f"pairs-0000{n}.jsonl" for n in range(4)]
    benchmark = pairs.read_pairs(folder)
    assert (len(benchmark.pairs), benchmark.layout) == (4, "pairs")
    (folder / "pairs-00001.jsonl").write_text("[]\n")
    with pytest.raises(DomainError, match=r"pairs-00001\.jsonl, line 1"):
        pairs.read_pairs(folder)
    assert check_release(folder) == [{"path": "pairs-00001.jsonl", "reason": "has changed"}]


def test_published_tables_in_shards_are_read_as_one(judged, built, tmp_path):
    release = built("personafeedback", shard_rows=1, rule="majority")
    folder = folders.folder_of(release)
    names = [f"majority-0000{n}.jsonl" for n in range(4)]
    assert sorted(path.name for path in (folder / "data/specific").glob("majority*")) == names
    # A persona's id is the number of its line.
    assert [path.name for path in (folder / "persona").glob("all_*")] == ["all_personas.jsonl"]
    assert check_release(folder) == []
    opened, whole, _splits = load(folder, tmp_path)
    assert opened == whole
    assert (opened["specific"], opened["personas"]) == (4, 1)
    release.frozen["choices"]["shard_rows"] = 0
    written_again(release, folder.parent / "whole")
    benchmark = pairs.read_pairs(folder)
    assert len(benchmark.pairs) == 4
    assert benchmark.pairs == pairs.read_pairs(folder.parent / "whole").pairs
    counts = import_release(folder, "again")
    assert (counts["items"], counts["rejected"]) == (4, [])


def test_the_command_writes_shards_and_the_same_again(judged, tmp_path, _data, capsys):
    command = ["release", "tea", "--layout", "long", "--format", "parquet", "--json"]
    call_command(*command, "--shard-rows", "7", "--out", tmp_path / "out")
    assert json.loads(capsys.readouterr().out)["rules"]["shard_rows"] == 7
    call_command("release", "tea", "--again", "1", "--out", tmp_path / "again", "--json")
    assert every_byte(tmp_path / "out") == every_byte(tmp_path / "again")


@pytest.fixture
def half(judged, _data):
    """A release of which two shards of judgments were whole when its process was killed."""

    def die_in_the_third_file():
        end = writers._File.__exit__

        def end_or_die(self, *error):
            name = self.file.name.rpartition("/")[2]
            if name == "judgments-00002.parquet":
                die()
            return end(self, *error)

        writers._File.__exit__ = end_or_die
        freeze.build(release.pk)

    release = freeze.request_release(judged, "long", "parquet", None, shard_rows=7)
    killed(die_in_the_third_file)
    Release.objects.update(lease_expires_at=timezone.now() - timedelta(seconds=1))
    release.refresh_from_db()
    return release


def finish(release):
    """Build the release; what tells each of its files from one written anew (``identity``)."""
    freeze.build(release.pk)
    release.refresh_from_db()
    assert (release.status, release.attempts) == ("done", 2)
    folder = folders.folder_of(release)
    assert sorted(path.name for path in folder.parent.iterdir()) == ["v1", "v1.zip"]
    assert check_release(folder) == []
    assert written_again(release, folder.parent / "again") == every_byte(folder)
    return {path.name: identity(path) for path in folder.iterdir()}


def identity(path):
    """(inode, time of its last change): a new file may get the inode of one that was deleted."""
    return path.stat().st_ino, path.stat().st_mtime_ns


@pytest.mark.django_db(transaction=True)
def test_a_killed_release_goes_on_after_its_whole_files(half):
    work = folders.work_of(half) / "v1"
    assert shards(work, "judgments") == [f"judgments-0000{n}.parquet" for n in range(3)]
    before = {path.name: identity(path) for path in work.iterdir()}
    (work / "a file of nobody").write_text("")
    after = finish(half)
    same = {name for name, file in after.items() if before.get(name) == file}
    assert {"judgments-00000.parquet", "judgments-00001.parquet"} <= same
    assert "judgments-00002.parquet" not in same


@pytest.mark.django_db(transaction=True)
def test_a_file_that_was_damaged_since_is_written_again(half):
    path = folders.work_of(half) / "v1" / "judgments-00001.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert "judgments-00001.parquet" not in Journal(path.parent).finished
    finish(half)


@pytest.mark.django_db(transaction=True)
def test_what_was_written_before_is_not_published_where_its_rows_have_changed(half):
    Judgment.objects.update(reason="")
    finish(half)
    first = folders.folder_of(half) / "judgments-00000.parquet"
    assert b"Because" not in first.read_bytes()


@pytest.mark.django_db(transaction=True)
def test_a_release_that_never_finishes_is_given_up_after_three_attempts_without_files(half):
    Release.objects.update(attempts=3)
    assert freeze.due() == []
    half.refresh_from_db()
    assert half.status == "failed"
    assert half.error.startswith("The release was not finished in 3 attempts")
    assert list(folders.folder_of(half).parent.iterdir()) == []
