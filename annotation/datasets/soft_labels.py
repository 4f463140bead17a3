"""Soft labels: how likely each label of an item is, from all of its votes.

Beside the share of votes stands the posterior after Dawid and Skene (1979), which weighs annotators
by their errors.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.datasets.records import Item, LabelVote

SOFT = [{"label": "text", "n": "integer", "share": "number", "posterior": "number"}]
DIGITS = 6


def posteriors(votes: Iterable[LabelVote]) -> dict[str, tuple[float, ...]]:
    """{item's id: posterior of each of ``Item.labels``} of all items with votes.

    Every version of a task is a model of its own.
    """
    tasks: dict[tuple, _Task] = {}
    for vote in votes:
        tasks.setdefault((vote.task, vote.labels), _Task(vote.labels)).add(vote)
    return {name: row for task in tasks.values() for name, row in task.fit()}


def soft(item: Item, posterior: tuple[float, ...] | None) -> list[dict]:
    """label, n, share and posterior of each label of ``item``; the last two None without votes."""
    counts = dict.fromkeys(item.labels, 0)
    for vote in item.votes:
        counts[vote.label] += 1
    total = len(item.votes)
    return [
        {
            "label": label,
            "n": count,
            "share": round(count / total, DIGITS) if total else None,
            "posterior": posterior[place] if posterior else None,
        }
        for place, (label, count) in enumerate(counts.items())
    ]


@dataclass
class _Task:
    """The votes of one version of a task as codes: place of item, number of worker, label."""

    categories: int
    items: dict[str, int] = field(default_factory=dict)
    workers: dict[int, int] = field(default_factory=dict)
    item: array = field(default_factory=lambda: array("i"))
    worker: array = field(default_factory=lambda: array("i"))
    label: array = field(default_factory=lambda: array("i"))

    def add(self, vote: LabelVote) -> None:
        self.item.append(self.items.setdefault(vote.item, len(self.items)))
        self.worker.append(self.workers.setdefault(vote.worker, len(self.workers)))
        self.label.append(vote.label)

    def fit(self):
        codes = (
            np.frombuffer(part, dtype=np.int32) for part in (self.item, self.worker, self.label)
        )
        shape = len(self.items), len(self.workers), self.categories
        rows = dawid_skene(*codes, shape).posterior.round(DIGITS).tolist()
        return zip(self.items, map(tuple, rows), strict=True)
