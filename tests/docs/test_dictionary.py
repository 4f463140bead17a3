"""The data dictionary names the columns that releases have, and no others."""

import re
from pathlib import Path

import pytest

from annotation.datasets.layouts import layout_of

DICTIONARY = (Path(__file__).parents[2] / "docs/data-dictionary.md").read_text("utf-8")
COLUMN = re.compile(r"`([\w-]+)`")


def section(heading: str) -> str:
    """The text below a heading, up to the next one of its level or a higher one."""
    level = heading.partition(" ")[0]
    text = DICTIONARY.split(f"\n{heading}\n")[1]
    return re.split(rf"^#{{2,{len(level)}}} ", text, flags=re.M)[0]


def described(text: str) -> dict[str, set[str]]:
    """The names in the row of each table that ``text`` describes, by the table's name."""
    rows = re.findall(r"^\| `([\w./_-]+)`[^|]*\| (.*) \|$", text, re.M)
    rows += re.findall(r"^\| [^|]*, `([\w./_-]+)` \| (.*) \|$", text, re.M)
    return {name.removesuffix(".jsonl"): set(COLUMN.findall(rest)) for name, rest in rows}


def names(columns) -> set[str]:
    """The names of columns and of the fields inside them."""
    if isinstance(columns, list):
        return names(columns[0])
    if isinstance(columns, dict):
        return set(columns).union(*(names(inner) for inner in columns.values()))
    return set()


@pytest.mark.parametrize("layout", ["long", "personalbench", "bespoke"])
def test_each_table_of_a_layout_is_described_column_by_column(layout):
    rows = described(section("## Releases").split("\n### ")[0]) | described(
        section(f"### {layout}")
    )
    tables = {name: t for name, t in layout_of(layout).tables("jsonl").items() if t.columns}
    tables.pop("votes", None)
    for path, table in tables.items():
        name = path.removesuffix(".jsonl")
        assert set(table.columns) - rows[name] == set(), name
        assert rows[name] - names(table.columns) == set(), name


@pytest.mark.parametrize("layout", ["personafeedback", "dpo"])
def test_the_columns_of_pairs_are_described(layout):
    named = set(COLUMN.findall(section(f"### {layout}")))
    assert set(layout_of(layout).COLUMNS) - named == set()
