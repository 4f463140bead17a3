"""A release on disk, and a model that is right, wrong, biased or unreadable as the texts say."""

import hashlib
import json
import re

import pytest
from pyarrow import parquet

from tests.scripted_endpoint import GARBAGE, ScriptedEndpoint, prompt_of

# How the scripted model answers on a pair, by a mark in its question.
RIGHT, WRONG, FIRST, SECOND, MUMBLE, BROKEN = "rwfsmb"
CELLS = {
    ("specific", "easy"): "rrrr",
    ("specific", "medium"): "rrff",
    ("specific", "hard"): "rwsm",
    ("general", "easy"): "rrw",
    ("general", "medium"): "rf",
    ("general", "hard"): "w",
}


def write_lines(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def make_release(folder, cells=None, *, memories=True, ids=True, users=2):
    """A `personafeedback` release: a pair for each mark, of ``users`` persons in turn."""
    personas = [{"Name": f"Person {n}", "Preference": f"tea {n}"} for n in range(1, users + 1)]
    write_lines(folder / "persona/all_personas.jsonl", personas)
    if memories:
        rows = [
            {"user_id": str(user), "text": f"Note {n} of {user} about {word}"}
            for user in range(1, users + 1)
            for n, word in enumerate(("tea", "trains", "rain", "bread", "boats", "moss"))
        ]
        write_lines(folder / "persona/memories.jsonl", rows)
    number = 0
    for (half, tier), marks in (cells or CELLS).items():
        rows = []
        for mark in marks:
            number += 1
            name = f"{half}-{tier}-{len(rows)}"
            row = {
                "user_id": str(number % users + 1),
                "question": f"[{mark}] Which tea, {name}?",
                "chosen": f"GOOD {name} with " + "many " * (number % 3) + "leaves",
                "reject": f"POOR {name} with water",
            }
            own_keys = {
                "item_id": f"i-{name}",
                "chosen_id": f"{name}-c",
                "reject_id": f"{name}-r",
            }
            rows.append(row | own_keys if ids else row)
        write_lines(folder / "data" / half / f"{tier}.jsonl", rows)
    return folder


def write_manifest(folder, release):
    """The manifest that the release's real writer would make of the files in ``folder``."""
    files = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        rows = content.count(b"\n")
        if path.suffix == ".parquet":
            rows = parquet.read_metadata(path).num_rows
        name = path.relative_to(folder).as_posix()
        digest = hashlib.sha256(content).hexdigest()
        files.append({"path": name, "bytes": len(content), "rows": rows, "sha256": digest})
    manifest = {"release": str(release.public_id), "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest))


def scripted(request, number):
    """The verdict of the mark in the question; of a filter, notes 1 and 3."""
    text = prompt_of(request)
    if "\nNotes:\n" in text:
        return "They tell of tea.\nNotes: 1, 3"
    mark = re.search(r"\[(\w)\] Which", text).group(1)
    good = 1 if text.index("GOOD") < text.index("POOR") else 2
    place = {RIGHT: good, WRONG: 3 - good, FIRST: 1, SECOND: 2}.get(mark)
    if mark == BROKEN:
        return GARBAGE
    if place is None:
        return "Both have their merits."
    return f"<think>Verdict: {3 - place}</think>Reasons.\n**Verdict: {place}**"


@pytest.fixture
def folder(tmp_path):
    return make_release(tmp_path / "release")


@pytest.fixture
def server(settings):
    """The scripted model under the name "scripted", four calls at once."""
    with ScriptedEndpoint(scripted) as endpoint:
        settings.ENDPOINTS = [endpoint.config(concurrency=4, price_in=2, price_out=8)]
        yield endpoint
