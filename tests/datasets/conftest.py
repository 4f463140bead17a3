"""Votes stored directly, as judging stores them, and releases built from them."""

import csv
import io
import itertools
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from django.db.models import F

from annotation.datasets import folders, freeze
from annotation.judging.models import Item, Judgment, Slot
from tests.imports.conftest import bring  # noqa: F401 - a fixture

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
keys = itertools.count()
MISSING = """
import sys, importlib.util
print(*(name for name in sys.argv[1:] if not importlib.util.find_spec(name)))
"""
# The Python that has other people's packages; `make tools` names one with locks/tools.lock.
TOOLS = os.environ.get("ATTUNE_TOOLS", sys.executable)


@pytest.fixture
def _data(tmp_path, settings):
    settings.DATA = tmp_path / "data"
    settings.DATA.mkdir()
    return settings.DATA


def rows(folder, path):
    """The rows of a table in JSON lines."""
    return [json.loads(line) for line in (folder / path).read_text("utf-8").splitlines()]


def write_rows(path, rows):
    """Write a table of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def lines(release, path):
    """The rows of a table of a release."""
    return rows(folders.folder_of(release), path)


def card(release):
    """The text of a release's dataset card."""
    return (folders.folder_of(release) / "README.md").read_text("utf-8")


def left_out(release, group="two_answers"):
    """{reason: items} of the items of a group that gave no pair."""
    return release.manifest["counts"]["left_out"][group]


def build(study, layout="long", format="", **options):
    """A finished release of ``study``."""
    release = freeze.request_release(study, layout, format, None, **options)
    freeze.build(release.pk)
    release.refresh_from_db()
    return release


def files_of(release):
    """{path: its bytes} of everything in a published release."""
    return every_byte(folders.folder_of(release))


def written_again(release, folder):
    """{path: its bytes} of a release that is written once more, into ``folder``."""
    folders.place(folder, lambda place: freeze.write(release, place))
    return every_byte(folder)


def votes_of(release):
    """The rows of a release's votes.csv."""
    text = files_of(release)["votes.csv"].decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def every_byte(folder):
    """{path: its bytes} of everything in ``folder``."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def run_tool(folder, tmp_path, code, *packages):
    """The JSON that ``code`` prints last, run in ``folder`` in a process without a network.

    The test is skipped where a package is not installed.
    """
    asked = subprocess.run([TOOLS, "-c", MISSING, *packages], capture_output=True, text=True)
    if missing := asked.stdout.split():
        pytest.skip(f"not installed: {', '.join(missing)}")
    env = {"HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HOME": str(tmp_path),
           "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "CUDA_VISIBLE_DEVICES": ""}  # fmt: skip
    done = subprocess.run(
        [TOOLS, "-c", code], cwd=folder, env=os.environ | env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture
def vote(cast):
    """vote(item, "1" * 8 + "2"): one vote a character by Ann0, Ann1, … in that order.

    "1", "2", "3" are canonical options, "t" a tie, "n" none.
    """

    def vote_(item, pattern: str, *, people=None, **fields):
        people = people or [cast.person(f"Rater{n}") for n in range(len(pattern))]
        store_votes(item, pattern, people, **fields)

    return vote_


def store_votes(item, pattern: str, people, *, imported=False, reason="", seconds=12.5):
    """One vote a character of ``pattern`` by the next of ``people`` (see ``vote``)."""
    options = {str(option.number): option for option in item.options.all()}
    slots = list(item.slots.filter(status=Slot.Status.OPEN).order_by("ordinal"))
    made = []
    for n, (_mark, slot, person) in enumerate(zip(pattern, slots, people, strict=False)):
        Slot.objects.filter(pk=slot.pk).update(status="done", annotator=person)
        made.append(
            Judgment(
                slot=slot,
                annotator=person,
                key=f"key-{next(keys)}",
                digest="d",
                shown=list(range(len(options), 0, -1)),
                reason=reason,
                flags=["unsafe"] if reason else [],
                seconds=seconds,
                submitted_at=START + timedelta(minutes=n),
                imported=imported,
            )
        )
    for judgment, mark in zip(made, pattern, strict=False):
        judgment.save()
        label = {"t": "tie", "n": "none"}.get(mark, mark)
        judgment.answers.create(question="choice", label=label)
    Item.objects.filter(pk=item.pk).update(done=F("done") + len(made))


@pytest.fixture
def items(cast, tea):
    """items(3, options=2): opens items in "tea"; a list in the order of hand-out."""

    def items_(count, *, options=2, **config):
        batch = cast.open(tea, items=count, options=options, **config)
        return list(batch.items.order_by("position"))

    return items_


@pytest.fixture
def panel(items, vote):
    """panel("111", "12t", tie=True): opens an item for each pattern and votes so; the items."""

    def panel_(*patterns, reason="", **config):
        made = items(len(patterns), **config)
        for item, pattern in zip(made, patterns, strict=True):
            vote(item, pattern, reason=reason)
        return made

    return panel_


@pytest.fixture
def built(_data, tea):
    """built("long", format="csv"): a finished release of "tea"."""
    return partial(build, tea)
