"""Votes made up for these tests, and where the reference data may lie."""

import numpy as np
import pytest

from annotation.agreement.votes.table import votes_from_columns
from tests.corpora import DATA


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
