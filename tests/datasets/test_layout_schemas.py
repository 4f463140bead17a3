"""The schemas in the wheel are those of the layouts, and what is written is as they say."""

import json

import pytest
from jsonschema import Draft202012Validator

from annotation.datasets import folders, layout_schemas, layouts


@pytest.mark.parametrize("name", layouts.by_name())
def test_the_wheels_schema_is_the_layouts(name):
    path = layout_schemas.FOLDER / f"{name}.json"
    assert path.read_text("utf-8") == layout_schemas.text(name)
    Draft202012Validator.check_schema(json.loads(path.read_text("utf-8")))


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["long", "dpo"])
def test_rows_that_are_written_fit_the_schema(name, items, vote, built):
    for item in items(3):
        vote(item, "111111112")
    folder = folders.folder_of(built(name, "jsonl"))
    tables = layout_schemas.schema(name)["$defs"]
    looked = []
    for path, rows in tables.items():
        file = folder / path
        if path.endswith(".jsonl") and file.exists():
            lines = file.read_text("utf-8").splitlines()
            for line in lines:
                Draft202012Validator(rows).validate(json.loads(line))
            looked += [path] * bool(lines)
    assert looked[:1] == {"long": ["judgments.jsonl"], "dpo": ["pairs.jsonl"]}[name]
