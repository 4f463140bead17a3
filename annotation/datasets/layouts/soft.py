"""Tables that layouts share: soft labels per item, every annotator's label, and what people say of
themselves.

A soft label is how likely a label is, from all votes of its item: beside the share of votes stands
the posterior after Dawid and Skene (1979), which weighs annotators by their errors.
"""

from collections.abc import Iterable
from typing import cast

import numpy as np

from annotation.agreement.statistics.raters import dawid_skene
from annotation.datasets.records import Item, LabelVotes
from annotation.datasets.writers import Table, TableRows, tables_of

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


SOFT_COLUMNS: dict[str, str | list] = {
    "item_id": "text",
    "task": "text",
    "kind": "text",
    "n": "integer",
    "labels": SOFT,
    "adjudicated": "text",
}
ANNOTATION_COLUMNS: dict[str, str | list] = {
    "item_id": "text",
    "task": "text",
    "kind": "text",
    "worker": "text",
    "label": "text",
    "reason": "text",
    "seconds": "number",
    "submitted_at": "text",
}


PEOPLE = "people"
PEOPLE_COLUMNS: dict[str, str | list] = {"worker": "text", "question": "text", "answer": "text"}


def people_table(format: str) -> Table:
    """``people``: what of a person's answers about themselves is told, one row an answer."""
    return Table(f"{PEOPLE}.{format}", format, PEOPLE_COLUMNS, config=PEOPLE, whole=True)


def soft_tables(format: str) -> dict[str, Table]:
    """``soft_labels``, one row an item, and ``annotations``, one row a label of one annotator."""
    columns = {"soft_labels": SOFT_COLUMNS, "annotations": ANNOTATION_COLUMNS}
    return tables_of(format, columns)


def soft_rows(item: Item, posterior: Posterior) -> TableRows:
    """The row of ``soft_labels`` of an item, where its votes are labels."""
    if item.labels and item.votes:
        row = {
            "item_id": item.id,
            "task": item.task,
            "kind": item.kind,
            "n": len(item.votes),
            "labels": soft(item, posterior),
            "adjudicated": item.adjudicated if isinstance(item.adjudicated, str) else None,
        }
        yield "soft_labels", row


def annotations(item: Item) -> TableRows:
    """The rows of ``annotations`` for the votes on an item whose answers are one label."""
    for vote in item.votes if item.labels else ():
        about = {"item_id": item.id, "task": item.task, "kind": item.kind, "worker": vote.worker}
        names = ("label", "reason", "seconds", "submitted_at")
        yield "annotations", about | {name: getattr(vote, name) for name in names}
