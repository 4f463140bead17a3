"""Every layout opens in the libraries that people use, each table under its published name."""

import json
import os
import subprocess
import sys

import pytest

from annotation.datasets import folders

TABLES = {
    "personafeedback": {"personas": 1, "memories": 1, "specific": 1, "soft_labels": 2,
                        "annotations": 17},
    "dpo": {"pairs": 1, "pairs_plain": 1, "soft_labels": 2, "annotations": 17},
    "long": {"judgments": 17, "items": 2, "candidates": 4, "personas": 1, "soft_labels": 2},
}  # fmt: skip
# In a process of its own: the library reads where its cache is when it is imported.
LOAD = """
import json, sys, datasets
folder = sys.argv[1]
names = datasets.get_dataset_config_names(folder)
opened = {name: datasets.load_dataset(folder, name) for name in names}
rows = {name: sum(split.num_rows for split in one.values()) for name, one in opened.items()}
whole = {name: datasets.load_dataset(folder, name, split="all").num_rows for name in names}
first = datasets.load_dataset(folder)
print(json.dumps([rows, whole, {name: list(one) for name, one in opened.items()}]))
"""


@pytest.fixture
def judged(tea, items, vote):
    for item, pattern in zip(items(2), ["1" * 9, "1111222 2".replace(" ", "")], strict=True):
        vote(item, pattern, reason="Because, “so”.")
    mina = tea.personas.get()
    mina.memories.create(text="Ferns.")
    mina.versions.update(profile={"Name": "Mina Park", "Odd": {"a": [1, "b", {"c": None}]}})
    return tea


def load(folder, tmp_path):
    """What ``datasets`` opens: rows a table, rows under split="all", and names of splits."""
    pytest.importorskip("datasets", reason="the dev extra is not installed")
    cache = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", LOAD, str(folder)],
        env=os.environ | cache | {"HF_DATASETS_DISABLE_PROGRESS_BARS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return json.loads(run.stdout)


@pytest.mark.parametrize(
    ("layout", "format"),
    [("personafeedback", "jsonl"), ("dpo", "jsonl"), ("dpo", "parquet"), ("long", "jsonl"),
     ("long", "csv"), ("long", "parquet")],
)  # fmt: skip
def test_datasets_opens_each_table_that_has_rows(judged, built, tmp_path, layout, format):
    folder = folders.folder_of(built(layout, format))
    rows, whole, splits = load(folder, tmp_path)
    assert rows == whole == TABLES[layout]
    if layout == "personafeedback":
        assert splits["specific"] == ["medium"]


def read_everywhere(folder):
    """{path: rows} of the folder's tables, each read by pandas, polars and duckdb alike."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    duckdb = pytest.importorskip("duckdb")
    read = {
        ".jsonl": (lambda path: pandas.read_json(path, lines=True), polars.read_ndjson),
        ".csv": (pandas.read_csv, polars.read_csv),
        ".parquet": (pandas.read_parquet, polars.read_parquet),
    }
    files = json.loads((folder / "manifest.json").read_text())["files"]
    tables = {entry["path"]: entry["rows"] for entry in files if entry["rows"]}
    for name, rows in tables.items():
        path = folder / name
        assert [len(how(path)) for how in read[path.suffix]] == [rows, rows], name
        query = f"SELECT count(*) FROM '{path}'"  # noqa: S608
        assert duckdb.sql(query).fetchall() == [(rows,)], name
    return tables


@pytest.mark.parametrize(
    ("layout", "format"),
    [("personafeedback", "jsonl"), ("dpo", "parquet"), ("long", "jsonl"), ("long", "csv"),
     ("long", "parquet")],
)  # fmt: skip
def test_pandas_polars_and_duckdb_read_every_table(judged, built, layout, format):
    read = read_everywhere(folders.folder_of(built(layout, format)))
    assert len(read) >= len(TABLES[layout]), read
    assert read.get("votes.csv", 17) == 17
