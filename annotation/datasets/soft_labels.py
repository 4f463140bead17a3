"""Soft labels: how likely each label of an item is, from all of its votes.

Beside the share of votes stands the posterior after Dawid and Skene (1979), which weighs annotators
by their errors.
"""

from collections.abc import Iterable
from typing import cast

import numpy as np

from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.datasets.records import Item, LabelVotes

SOFT = [{"label": "text", "n": "integer", "share": "number", "posterior": "number"}]
DIGITS = 6
# Of an item's labels; None where there is none.
Posterior = tuple[float, ...] | None


class Posteriors:
    """The posterior of each item's labels; every version of a task is a model of its own."""

    def __init__(self, votes: Iterable[LabelVotes]) -> None:
        self._tasks = {task.task: _fitted(task) for task in votes if len(task.position)}

    def of(self, item: Item) -> tuple[float, ...] | None:
        """Of each of ``item.labels``; None without votes."""
        if not item.labels or not item.votes:
            return None
        positions, rows = self._tasks[item.task, item.task_version]
        return tuple(rows[positions.searchsorted(item.position)].tolist())


def _fitted(votes: LabelVotes) -> tuple[np.ndarray, np.ndarray]:
    """The positions of the items, rising, and a row of posteriors for each."""
    # In the items' order: no sorting is needed.
    starts = np.flatnonzero(np.diff(votes.position, prepend=-1))
    positions, sizes = votes.position[starts], np.diff(starts, append=len(votes.position))
    item = np.repeat(np.arange(len(starts), dtype=np.int32), sizes)
    # People without a vote on the task have no place in the model.
    voted = np.bincount(votes.worker) > 0
    worker = (np.cumsum(voted, dtype=np.int32) - 1)[votes.worker]
    shape = len(positions), int(voted.sum()), len(votes.offered)
    fitted = dawid_skene(item, worker, votes.label, shape)
    # A search for one of Python's numbers would make a copy of smaller ones each time.
    return positions.astype(np.int64), fitted.posterior.round(DIGITS)


def soft(item: Item, posterior: Posterior) -> list[dict]:
    """label, n, share and posterior of each label of ``item``; the last two None without votes."""
    counts = dict.fromkeys(item.labels, 0)
    for vote in item.votes:
        counts[cast(str, vote.label)] += 1
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
