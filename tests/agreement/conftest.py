"""Votes made up for these tests, and where the reference data may lie."""

import json

import numpy as np
import pytest

from annotation.agreement.report import agreement_report, json_pieces
from annotation.agreement.votes.table import votes_from_columns
from tests.corpora import DATA

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
    return json.loads("".join(json_pieces(agreement_report(votes, level))))


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
