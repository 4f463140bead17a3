"""Votes made up for these tests, and where the reference data may lie."""

import io
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from annotation.agreement.report import agreement_report
from annotation.judging.models import Judgment, Slot
from annotation.judging.work import submit
from annotation.votes.table import votes_from_columns
from tests.corpora import DATA
from tests.everykind import judged_mix, mix  # noqa: F401 - fixtures

# Shrout and Fleiss (1979), table 2: six targets, four judges.
SIX_TARGETS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]


@pytest.fixture
def shared():
    """The folder of reference data sets, which is no part of a checkout."""
    if not DATA.is_dir():
        pytest.skip("the reference data sets are not here: set ATTUNE_SHARED to their folder")
    return DATA


def make_counts(items, votes, options, *, seed=0, missing=0.0):
    """Random (items, options) counts with a true preference an item; some votes may be missing."""
    rng = np.random.default_rng(seed)
    preference = rng.dirichlet(np.full(options, 0.5), size=items)
    n = rng.binomial(votes, 1 - missing, size=items)
    return rng.multinomial(n, preference)


def long_form(counts, seed=0):
    """Item, worker and category codes of random annotators that give these counts."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(len(counts)), counts.sum(axis=1))
    category = np.concatenate([np.repeat(np.arange(counts.shape[1]), row) for row in counts])
    worker = np.concatenate([rng.permutation(20)[:n] for n in counts.sum(axis=1)])
    return item, worker, category


def as_json(votes, level="nominal"):
    return json.loads(json.dumps(agreement_report(votes, level), allow_nan=False))


def make_votes(table):
    """Votes of a {task: {worker: label}} table."""
    rows = [(t, w, label) for t, given in table.items() for w, label in given.items()]
    return votes_of(rows)


def votes_of(rows, names=("task", "worker", "label")):
    """Votes of rows (task, worker, label, …)."""
    columns = map(list, zip(*rows, strict=True))
    return votes_from_columns(dict(zip(names, columns, strict=True)))


def panel(counts_by_task):
    """Votes of {task: (9, 0) …}: labels a, b, c by place, annotators w00, w01, …"""
    table = {}
    for task, counts in counts_by_task.items():
        labels = [label for label, n in zip("abc", counts, strict=False) for _ in range(n)]
        table[task] = {f"w{i:02}": label for i, label in enumerate(labels)}
    return make_votes(table)


@pytest.fixture
def without_rests(monkeypatch):
    """Compute results at each turn, however much processor time the turn before took."""
    monkeypatch.setattr("annotation.agreement.tasks.SHARE", 0)


GOOD = "task,worker,label\nt1,ann,a\nt1,bo,b\nt2,ann,a\nt2,bo,a\n"


@pytest.fixture
def votes_file(tmp_path):
    def write(content, name="votes.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def run(command, *arguments):
    out, err = io.StringIO(), io.StringIO()
    call_command(command, *map(str, arguments), stdout=out, stderr=err)
    return out.getvalue()


def refused(command, *arguments):
    with pytest.raises(CommandError) as caught:
        run(command, *arguments)
    return caught.value


@pytest.fixture
def split(cast, tea, say):
    """Three pairs: 2 against 2, 4 to nothing, and 2 against 2 with a slot that somebody holds."""
    even, clear, held = cast.open(tea, items=3, options=2, overlap=9).items.order_by("position")
    for item, votes in ((even, "aabb"), (clear, "aaaa"), (held, "abab")):
        say(item, votes)
    slot = Slot.objects.filter(item=held, status="open").first()
    slot.status, slot.annotator = "held", cast.person("Hana")
    slot.save()
    return even, clear, held


START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def say(cast, tea):
    """say(item, "aab"): new people vote on an item, for its first answer ("a") or the second."""
    made = iter(range(1000))

    def say_(item, pattern: str) -> None:
        for mark in pattern:
            n = next(made)
            person = cast.member(f"Rater{n}", tea, "annotator")
            slot = item.slots.filter(status="open").order_by("ordinal").first()
            Slot.objects.filter(pk=slot.pk).update(status="held", annotator=person)
            option = item.options.get(number=1 if mark == "a" else 2)
            choice = {"choice": str(option.candidate_id)}
            submit.submit(tea, slot.pk, person, choice, key=f"say{n}")
            at = START + timedelta(minutes=n)
            Judgment.objects.filter(slot=slot).update(submitted_at=at)

    return say_
