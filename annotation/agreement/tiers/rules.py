"""The tiers of votes: each item's first ones, by the rule of ``statistics.tiers``."""

from collections import Counter
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Any

import numpy as np

from annotation.agreement.statistics.tiers import (
    DEFAULT,
    Judged,
    TierRule,
    is_topped_up,
    judged,
    mean_kappa,
    report_of,
    unbiased_votes,
)
from annotation.votes.table import NO_TIME, Votes, VotesError

# Names of tasks.
Names = AbstractSet[str]


def used_rows(votes: Votes, panel: int | np.ndarray) -> np.ndarray:
    """Rows of each task's first votes by submission time, then worker; sorted by task.

    ``panel`` is how many, one number for all tasks or one a task. Votes without a time come last;
    without any times the order of the file is the order of votes.
    """
    keys: tuple[np.ndarray, ...] = (votes.task,)
    if votes.submitted is not None and np.any(votes.submitted != NO_TIME):
        keys = (votes.worker, votes.submitted, votes.task)
    order = np.lexsort(keys)
    task = votes.task[order]
    start = np.searchsorted(task, task)
    most = np.broadcast_to(panel, len(votes.tasks))
    return order[np.arange(len(order)) - start < most[task]]


def options_seen(votes: Votes) -> int:
    """The number of labels seen, at least two: a vote is a choice between options.

    Votes for one label alone agree wholly, and an item's kappa is then 1 for every number.
    """
    return max(len(votes.labels), 2)


def judge(
    votes: Votes,
    options: int | None = None,
    rule: TierRule = DEFAULT,
    *,
    collecting: Names = frozenset(),
    topped: Names = frozenset(),
) -> list[Judged]:
    """Every task of ``votes`` as Judged, in alphabetical order of tasks.

    ``options`` K defaults to the number of labels seen; ``collecting`` names the tasks that still
    wait for votes, ``topped`` those that were topped up. Raises VotesError with the line of a vote
    for one label more than there are options.
    """
    options = options or options_seen(votes)
    items = _judged_by(rule.panel, votes, options, rule, collecting)
    counts = np.bincount(votes.task, minlength=len(items))
    longer = [
        task
        for task, item in enumerate(items)
        if item.task in topped and is_topped_up(item.tier, counts[task], rule)
    ]
    if not longer:
        return items
    panel = np.full(len(items), rule.panel)
    panel[longer] = rule.top_up
    return _judged_by(panel, votes, options, rule, collecting)


def _judged_by(
    panel: int | np.ndarray, votes: Votes, options: int, rule: TierRule, collecting: Names
) -> list[Judged]:
    tallies = _tallies(votes, used_rows(votes, panel))
    # Items of equal votes have one tier: very many items have few different votes.
    of_votes: dict[tuple, Judged] = {}
    items = []
    for task, (name, tally) in enumerate(zip(votes.tasks, tallies, strict=True)):
        closed = name not in collecting
        key = (closed, *tally.items())
        if key not in of_votes:
            if len(tally) > options:
                _refuse_extra_label(votes, task, options)
            of_votes[key] = judged("", tally, options, rule, closed)
        same = of_votes[key]
        items.append(Judged(name, tally, same.n, same.winner, same.share, same.tier))
    return items


def _tallies(votes: Votes, rows: np.ndarray) -> list[dict[str, int]]:
    width = len(votes.labels)
    keys, counts = np.unique(
        np.multiply(votes.task[rows], width, dtype=np.int64) + votes.label[rows],
        return_counts=True,
    )
    tallies: list[dict[str, int]] = [{} for _ in votes.tasks]
    for key, count in zip(keys.tolist(), counts.tolist(), strict=True):
        task, label = divmod(key, width)
        tallies[task][votes.labels[label]] = count
    return tallies


def _refuse_extra_label(votes: Votes, task: int, options: int) -> None:
    seen = set()
    for row in np.flatnonzero(votes.task == task):
        seen.add(votes.label[row])
        if len(seen) > options:
            label = votes.labels[votes.label[row]]
            raise VotesError(
                f"{votes.where(int(row))}: the label {label[:80]!r} is one more than the "
                f"{options} options of task {votes.tasks[task]}"
            )


def tiers_report(
    votes: Votes,
    options: int | None = None,
    rule: TierRule = DEFAULT,
    *,
    collecting: Names = frozenset(),
    topped: Names = frozenset(),
) -> dict[str, Any]:
    """The contract's tiers document: rule, items, and every tier's agreement against its band.

    "all" is the agreement on all items, from the votes that the rule uses.

    ``collecting`` names the tasks that still wait for votes, ``topped`` those that were topped up.
    """
    options = options or options_seen(votes)
    items = judge(votes, options, rule, collecting=collecting, topped=topped)
    pool = pool_kappa(votes, options, rule)
    report = report_of(items, votes.labels, options, rule, pool)
    return {"rule": report["rule"], "items": [item.as_json() for item in items], **report}


def pool_kappa(votes: Votes, options: int, rule: TierRule) -> Fraction | None:
    """Exact symmetric kappa of all tasks, on the first t₀ votes where collection stops early."""
    tallies = _tallies(votes, used_rows(votes, unbiased_votes(options, rule)))
    shapes = Counter(tuple(sorted(tally.values())) for tally in tallies)
    several = Counter({shape: n for shape, n in shapes.items() if sum(shape) > 1})
    return mean_kappa(several, options)
