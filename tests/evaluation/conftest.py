"""A release on disk, and a model that is right, wrong, biased or unreadable as the texts say."""

import hashlib
import io
import json
import re
import shutil

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone
from pyarrow import parquet

from annotation.datasets import folders
from annotation.datasets.models import Release
from tests.everykind import judged_mix, mix  # noqa: F401 - fixtures
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


@pytest.fixture
def release(tea, tmp_path, settings, folder):
    """Release 1 of "tea": its folder is the one that the scripted model answers on."""
    settings.DATA = tmp_path / "data"
    made = Release.objects.create(
        study=tea, version=1, layout="personafeedback", format="jsonl", salt="0" * 64,
        as_of=timezone.now(), frozen={"about": {"slug": "tea"}}, status="done",
    )  # fmt: skip
    target = folders.folder_of(made)
    target.parent.mkdir(parents=True)
    shutil.copytree(folder, target)
    write_manifest(target, made)
    return made


def printed(name, *arguments, **options):
    """What the command prints as one JSON document."""
    out = io.StringIO()
    call_command(name, *map(str, arguments), "--json", stdout=out, **options)
    return json.loads(out.getvalue())


def page(release):
    return reverse("models", args=["tea", release.version])


def ask(browser, release, **data):
    return browser.post(page(release), {"endpoint": "scripted", "setting": "persona"} | data)


@pytest.fixture
def measured(release, server, settings):
    """Three runs: the scripted model with and without the persona, and one that is always right."""
    folder = folders.folder_of(release)
    for setting in ("persona", "none"):
        call_command("evaluate", release=folder, endpoint="scripted", setting=setting, group="chat")

    def right(request, number):
        text = request["messages"][-1]["content"]
        return f"Verdict: {1 if text.index('GOOD') < text.index('POOR') else 2}"

    with ScriptedEndpoint(right, model="<b>oracle</b> & co_1") as other:
        settings.ENDPOINTS = [other.config(name="oracle")]
        call_command("evaluate", release=folder, endpoint="oracle", setting="persona")
    return release


ROWS = [
    {"task": "i-a1", "model": "m-1", "label": "accepted"},
    {"task": "i-a2", "model": "m-1", "label": "accepted"},
    {"task": "i-m1", "model": "m-1", "label": "no"},
    {"task": "i-rate", "model": "m-1", "label": 1},
]


def write(tmp_path, *rows):
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path
