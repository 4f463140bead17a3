"""What each layout's files hold, as JSON schemas: `python -m annotation.datasets.layout_schemas`.

The files in `schemas/` are part of the wheel. A layout whose files change gets a new VERSION.
"""

import json
from pathlib import Path

import django

from annotation.datasets import layouts
from annotation.datasets.writers import Table

FOLDER = Path(__file__).parent / "schemas"
KINDS: dict[str, dict] = {
    "text": {"type": ["string", "null"]},
    "integer": {"type": "integer"},
    "integer or none": {"type": ["integer", "null"]},
    "number": {"type": ["number", "null"]},
    "boolean": {"type": ["boolean", "null"]},
    "texts": {"type": ["array", "null"], "items": {"type": "string"}},
    "integers": {"type": ["array", "null"], "items": {"type": "integer"}},
    "numbers": {"type": ["array", "null"], "items": {"type": "number"}},
    "json": {},
}


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
    properties = {name: _kind(kind) for name, kind in table.columns.items()}
    return {"type": "object", "properties": properties, "required": list(table.columns)}


def _kind(kind: str | list) -> dict:
    if isinstance(kind, str):
        return KINDS[kind]
    properties = {name: _kind(entry) for name, entry in kind[0].items()}
    return {"type": ["array", "null"], "items": {"type": "object", "properties": properties}}


def text(name: str) -> str:
    return json.dumps(schema(name), indent=1) + "\n"


if __name__ == "__main__":
    django.setup()  # which registers the papers
    for layout in layouts.by_name():
        (FOLDER / f"{layout}.json").write_text(text(layout), encoding="utf-8")
