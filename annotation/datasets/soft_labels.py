"""Soft labels: how likely each label of an item is, from all of its votes.

Beside the share of votes stands the posterior after Dawid and Skene (1979), which weighs annotators
by their errors.
"""

from collections.abc import Iterable
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.datasets.columns import ends_of, json_lists, json_text
from annotation.datasets.records import Chunk, Item, LabelVotes

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

    def of_items(self, chunk: Chunk, items: np.ndarray) -> np.ndarray:
        """The same of these places in ``chunk`` (items, most labels); each must have votes."""
        posteriors = np.full((len(items), chunk.options.labels.shape[1]), np.nan)
        for number, task in enumerate(chunk.tasks):
            of_task = np.flatnonzero(chunk.task[items] == number)
            if len(of_task):
                positions, rows = self._tasks[task]
                places = positions.searchsorted(chunk.position[items[of_task]])
                posteriors[of_task, : rows.shape[1]] = rows[places]
        return posteriors


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


def soft_columns(chunk: Chunk, posteriors: Posteriors) -> tuple[np.ndarray, dict[str, pa.Array]]:
    """Which items have votes that are labels; ``n`` and ``labels`` as ``soft`` of each, as JSON."""
    counts = chunk.counted(chunk.votes.code >= 0)
    items = np.flatnonzero(counts.sum(axis=1))
    places, counts = chunk.options.labels[items], counts[items]
    there, total = places >= 0, counts.sum(axis=1)
    labels = pc.binary_join_element_wise(
        '{"label": ',
        chunk.options.texts.take(pa.array(places[there])),
        ', "n": ',
        pa.array(counts[there]).cast(pa.string()),
        ', "share": ',
        _shares(counts[there], np.repeat(total, there.sum(axis=1))),
        ', "posterior": ',
        pa.array(map(json_text, posteriors.of_items(chunk, items)[there].tolist()), pa.string()),
        "}",
        "",
    )
    n = pa.array(total).cast(pa.string())
    return items, {"n": n, "labels": json_lists(labels, ends_of(there.sum(axis=1)))}


def _shares(count: np.ndarray, total: np.ndarray) -> pa.Array:
    width = total.max(initial=0) + 1
    pairs, where = np.unique(count * width + total, return_inverse=True)
    made = [json_text(round(pair // width / (pair % width), DIGITS)) for pair in pairs.tolist()]
    return pa.array(made, pa.string()).take(pa.array(where))


def soft(item: Item, posterior: Posterior) -> list[dict]:
    """label, n, share and posterior of each label of ``item``; the last two None without votes."""
    counts = dict.fromkeys(item.labels, 0)
    for label in item.vote_labels:
        counts[cast(str, label)] += 1
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
