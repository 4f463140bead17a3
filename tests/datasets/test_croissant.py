"""What croissant.json describes is read by mlcroissant itself, in every layout and format."""

import json

import mlcroissant
import pytest

from tests.datasets.test_round_trip import FEW, mix, released  # noqa: F401 - a fixture

OF_PAIRS = ("dpo", "personafeedback")
WRITTEN = [("dpo", "jsonl"), ("long", "csv"), ("long", "parquet"), ("personafeedback", "jsonl"),
           ("personalbench", "jsonl")]  # fmt: skip


def records(folder, name):
    return list(mlcroissant.Dataset(jsonld=str(folder / "croissant.json")).records(name))


@pytest.mark.parametrize(("layout", "format"), WRITTEN)
def test_every_record_set_of_a_release_is_read(mix, _data, layout, format):  # noqa: F811
    folder = released(mix, layout, format, **(FEW if layout in OF_PAIRS else {}))
    rows = {file["path"].rpartition(".")[0].replace("/", "-"): file["rows"] for file in
            json.loads((folder / "manifest.json").read_text())["files"]}  # fmt: skip
    described = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    names = [one.id for one in described.metadata.record_sets]
    assert {"soft_labels"} < set(names)
    assert {name: len(list(described.records(name))) for name in names} == {
        name: rows[name] for name in names
    }


def test_lists_of_objects_dates_and_labels_keep_their_values(mix, _data):  # noqa: F811
    folder = released(mix)
    first = json.loads((folder / "soft_labels.jsonl").read_text().splitlines()[0])
    (shown, *_rest) = records(folder, "soft_labels")
    assert shown["soft_labels/item_id"].decode() == first["item_id"]
    assert [part["soft_labels/labels/n"] for part in shown["soft_labels/labels"]] == [
        part["n"] for part in first["labels"]
    ]
    judgment = json.loads((folder / "judgments.jsonl").read_text().splitlines()[0])
    (read, *_rest) = records(folder, "judgments")
    assert read["judgments/submitted_at"].date().isoformat() == judgment["submitted_at"][:10]
    assert [text.decode() for text in read["judgments/shown"]] == judgment["shown"]
    # A profile has no type there: the description names it.
    described = json.loads((folder / "croissant.json").read_text())
    texts = {one["name"]: one.get("description") for one in described["recordSet"]}
    assert texts["personas"] == "Also in the file, as JSON: profile."
