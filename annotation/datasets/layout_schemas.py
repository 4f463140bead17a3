"""What each layout's files hold, as JSON schemas: `python -m annotation.datasets.layout_schemas`.

The files in `schemas/` are part of the wheel. A layout whose files change gets a new VERSION.
"""

import json
from pathlib import Path

import django

from annotation.datasets import layouts
from annotation.datasets.writers import LISTS, TYPES, Table

FOLDER = Path(__file__).parent / "schemas"
ENTRIES = {"string": "string", "int64": "integer"}


def schema(name: str) -> dict:
    """The JSON schema of the layout ``name``: a definition for the rows of each of its tables."""
    layout = layouts.layout_of(name)
    tables = layout.tables(layout.FORMATS[0])
    rows = {table.path: _rows(table) for table in tables.values() if table.columns}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Rows of the layout {name}, version {layouts.version_of(name)}",
        "$defs": rows,
    }


def _rows(table: Table) -> dict:
    properties = {name: _schema(kind) for name, kind in table.columns.items()}
    return {"type": "object", "properties": properties, "required": list(table.columns)}


def _schema(kind: str | list) -> dict:
    if isinstance(kind, list):
        properties = {name: _schema(entry) for name, entry in kind[0].items()}
        return _list_of({"type": "object", "properties": properties})
    if kind in LISTS:
        return _list_of({"type": ENTRIES[LISTS[kind]]})
    stated = TYPES[kind].schema
    return {"type": stated} if stated else {}


def _list_of(entries: dict) -> dict:
    return {"type": ["array", "null"], "items": entries}


def text(name: str) -> str:
    return json.dumps(schema(name), indent=1) + "\n"


if __name__ == "__main__":
    django.setup()  # which registers the papers
    for layout in layouts.by_name():
        (FOLDER / f"{layout}.json").write_text(text(layout), encoding="utf-8")
