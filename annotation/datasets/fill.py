"""The release step of the tier rule: which borderline items join the hard tier."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import numpy as np

from annotation.agreement.statistics.dawid_skene import dawid_skene
from annotation.agreement.tiers import rules
from annotation.datasets.records import Item, Verdict
from annotation.datasets.truth import verdict
from annotation.judging.kinds import kind_of
from annotation.votes.counting import AUDIT_TASK


def filled(items: Iterable[Item], rule: rules.TierRule) -> frozenset[str]:
    """Ids of the borderline items that a release by ``rule`` takes for hard (``tiers.fill_hard``).

    Each version of a task has a hard tier of its own; the order among equal items is by the
    posterior of their winners after Dawid and Skene.
    """
    if not rule.hard_fill:
        return frozenset()
    tasks = {}
    for item in items:
        pair = kind_of(item.kind).chooses and len(item.answers) == 2
        if pair and item.task != AUDIT_TASK:
            key = item.task, item.task_version, item.labels[2:]
            tasks.setdefault(key, _Task(len(item.labels))).add(item, verdict(item, rule))
    return frozenset(name for task in tasks.values() for name in task.filled(rule))


@dataclass
class _Task:
    """The items of one version of a task, and all their used votes as codes."""

    options: int
    judged: list[rules.Judged] = field(default_factory=list)
    votes: list[tuple[int, str, int]] = field(default_factory=list)

    def add(self, item: Item, verdict: Verdict) -> None:
        if not verdict.n:
            return
        place = {label: code for code, label in enumerate(item.labels)}
        self.votes += [
            (len(self.judged), vote.worker, place[cast(str, vote.label)])
            for vote in item.votes[: verdict.n]
        ]
        counts = {str(code): count for code, count in enumerate(verdict.counts) if count}
        winner = None if verdict.winner is None else str(place[verdict.winner])
        share = Fraction(max(verdict.counts), verdict.n)
        self.judged.append(rules.Judged(item.id, counts, verdict.n, winner, share, verdict.tier))

    def filled(self, rule: rules.TierRule) -> Iterator[str]:
        if not any(judged_item.tier == "borderline" for judged_item in self.judged):
            return
        item, worker, category = zip(*self.votes, strict=True)
        names, code = np.unique(np.array(worker), return_inverse=True)
        shape = (len(self.judged), len(names), self.options)
        posterior = dawid_skene(np.array(item), code, np.array(category), shape).posterior
        sure = {
            judged_item.task: float(posterior[row, int(cast(str, judged_item.winner))])
            for row, judged_item in enumerate(self.judged)
            if judged_item.tier == "borderline"
        }
        joined, _reserve = rules.fill_hard(self.judged, self.options, rule, sure)
        yield from (judged_item.task for judged_item in joined)
