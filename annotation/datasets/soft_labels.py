"""Soft labels: how likely each label of an item is, from all of its votes.

Beside the share of votes stands the posterior after Dawid and Skene (1979), which weighs annotators
by their errors.
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.datasets.records import Item, LabelVotes

SOFT = [{"label": "text", "n": "integer", "share": "number", "posterior": "number"}]
DIGITS = 6


def posteriors(votes: Iterable[LabelVotes]) -> dict[str, tuple[float, ...]]:
    """{item's id: posterior of each of ``Item.labels``} of all items with votes.

    Every version of a task is a model of its own.
    """
    tasks: dict[tuple, _Task] = {}
    for item in votes:
        tasks.setdefault((item.task, item.offered), _Task(item.offered)).add(item)
    return {name: row for task in tasks.values() for name, row in task.fit()}


def soft(item: Item, posterior: tuple[float, ...] | None) -> list[dict]:
    """label, n, share and posterior of each label of ``item``; the last two None without votes."""
    counts = dict.fromkeys(item.labels, 0)
    for label in item.given_labels:
        counts[label] += 1
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


class _Task:
    """The votes of one version of a task as codes: place of item, number of worker, label."""

    def __init__(self, offered: tuple[str, ...]):
        self.places = {label: place for place, label in enumerate(offered)}
        self.items: list[str] = []
        self.workers: dict[str, int] = defaultdict(lambda: len(self.workers))
        self.item, self.worker, self.label = array("i"), array("i"), array("i")

    def add(self, votes: LabelVotes) -> None:
        self.item.extend([len(self.items)] * len(votes.workers))
        self.worker.extend([self.workers[worker] for worker in votes.workers])
        self.label.extend([self.places[label] for label in votes.labels])
        self.items.append(votes.item)

    def fit(self):
        codes = (
            np.frombuffer(part, dtype=np.int32) for part in (self.item, self.worker, self.label)
        )
        shape = len(self.items), len(self.workers), len(self.places)
        rows = dawid_skene(*codes, shape).posterior.round(DIGITS).tolist()
        return zip(self.items, map(tuple, rows), strict=True)
