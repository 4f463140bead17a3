"""Soft labels: how likely each label of an item is, from all of its votes.

Beside the share of votes stands the posterior after Dawid and Skene (1979), which weighs annotators
by their errors.
"""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.datasets.records import Item
from annotation.datasets.truth import not_offered

SOFT = [{"label": "text", "n": "integer", "share": "number", "posterior": "number"}]
DIGITS = 6


def posteriors(items: Iterable[Item]) -> dict[str, tuple[float, ...]]:
    """{item's id: posterior of each of ``Item.labels``} of all items with votes.

    Every version of a task is a model of its own.
    """
    tasks: dict[tuple, _Task] = {}
    for item in items:
        if item.labels and item.votes:
            key = item.task, item.task_version, len(item.labels), item.labels[len(item.answers) :]
            tasks.setdefault(key, _Task(len(item.labels))).add(item)
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
    names: list[str] = field(default_factory=list)
    workers: dict[str, int] = field(default_factory=dict)
    item: array = field(default_factory=lambda: array("i"))
    worker: array = field(default_factory=lambda: array("i"))
    label: array = field(default_factory=lambda: array("i"))

    def add(self, item: Item) -> None:
        place = {label: code for code, label in enumerate(item.labels)}
        for vote in item.votes:
            if vote.label not in place:
                raise not_offered(item, vote.label)
            self.item.append(len(self.names))
            self.worker.append(self.workers.setdefault(vote.worker, len(self.workers)))
            self.label.append(place[vote.label])
        self.names.append(item.id)

    def fit(self):
        codes = (
            np.frombuffer(part, dtype=np.int32) for part in (self.item, self.worker, self.label)
        )
        shape = len(self.names), len(self.workers), self.categories
        rows = dawid_skene(*codes, shape).posterior.round(DIGITS).tolist()
        return zip(self.names, map(tuple, rows), strict=True)
