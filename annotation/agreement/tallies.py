"""Agreement and tiers of a task from the counts of its items' votes, without single votes.

Items of equal votes are a group, and groups are few however many items there are. Single votes are
read of the items whose counts do not tell which votes the rule uses: those with more votes than the
panel, and those with votes of people who left.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import Count, Q, QuerySet

from annotation.agreement import reading
from annotation.agreement.report import coefficients, counts_report
from annotation.agreement.statistics import kappas
from annotation.agreement.statistics.kappas import Patterns
from annotation.agreement.tiers import reserve, rules
from annotation.agreement.tiers.rules import Judged, TierRule
from annotation.agreement.votes.table import Votes, categories
from annotation.core import sql
from annotation.judging.models import Item, Judgment
from annotation.studies.models import TaskDefinition

# Where single votes of more items are needed, reading all of them takes little longer.
MOST_APART = 5_000
_COUNTERS = tuple(Item.COUNTERS.values())
_COLUMNS = {
    "closed": "boolean", **dict.fromkeys(_COUNTERS, "integer"),
    "tier": "text", "winner": "integer", "share": "double precision",
}  # fmt: skip
_STORE_TIERS = f"""
    INSERT INTO agreement_itemtier (item_id, tier, winner, share, votes)
    SELECT item.id, judged.tier, judged.winner, judged.share, item.done
    FROM judging_item item
    JOIN unnest({", ".join(f"%({name})s::{kind}[]" for name, kind in _COLUMNS.items())})
         AS judged({", ".join(_COLUMNS)})
         ON ({", ".join(f"item.{name}" for name in _COUNTERS)})
            = ({", ".join(f"judged.{name}" for name in _COUNTERS)})
         AND judged.closed = (item.done >= item.overlap OR item.batch_id = ANY(%(shut)s))
    LEFT JOIN agreement_itemtier stored ON stored.item_id = item.id
    WHERE item.batch_id = ANY(%(batches)s) AND NOT item.id = ANY(%(apart)s)
          AND (stored.tier, stored.winner, stored.share, stored.votes)
              IS DISTINCT FROM (judged.tier, judged.winner, judged.share, item.done)
    ON CONFLICT (item_id) DO UPDATE SET tier = excluded.tier, winner = excluded.winner,
        share = excluded.share, votes = excluded.votes"""  # noqa: S608 - constants only


@dataclass(frozen=True)
class Tallies:
    """The votes of a task's items, as far as agreement and tiers need them.

    ``groups`` is {(votes by label, whether the item waits for no more): items} of the items that
    have votes; ``apart`` are the ids of those that ``votes``, their single votes, are read of.
    ``collecting`` and ``topped`` name those of them that wait, and that were topped up; ``closed``
    is whether no item waits.
    """

    state: reading.StudyState
    definition: TaskDefinition
    rule: TierRule
    groups: dict[tuple[tuple[int, ...], bool], int]
    closed: bool
    apart: list[UUID]
    votes: Votes | None
    collecting: frozenset[str]
    topped: frozenset[str]

    @property
    def labels(self) -> list[str]:
        """All labels that could be given."""
        return self.state.labels[self.definition.name]

    def patterns(self) -> Patterns:
        """Vote patterns of all items; columns are ``labels``."""
        rows = np.array([votes for votes, _closed in self.groups], dtype=np.int64)
        rows = rows.reshape(-1, len(self.labels))
        tables = [np.repeat(rows, list(self.groups.values()), axis=0)]
        if self.votes:
            category, _labels = categories(self.votes, "nominal", self.labels)
            size = len(self.votes.tasks), len(self.labels)
            tables.append(kappas.count_votes(self.votes.task, category, *size))
        return kappas.patterns_of(np.concatenate(tables))

    def agreement(self, workers: int) -> dict[str, Any]:
        """``report.agreement_report`` without the figures that need single votes."""
        patterns = self.patterns()
        return {**counts_report(patterns, workers, self.labels), **coefficients(patterns)}

    def judged(self) -> tuple[list[Judged], list[Judged]]:
        """The groups, and the items apart, with their tiers."""
        options, groups = len(self.labels), []
        for (votes, closed), items in self.groups.items():
            tally = {label: n for label, n in zip(self.labels, votes, strict=True) if n}
            groups.append(rules.judged("", tally, options, self.rule, closed, items))
        if not self.votes:
            return groups, []
        waiting = {"collecting": self.collecting, "topped": self.topped}
        return groups, rules.judge(self.votes, options, self.rule, **waiting)

    def tiers(self, groups: list[Judged], apart: list[Judged]) -> dict[str, Any]:
        """``rules.tiers_report`` of what is ``judged``, without its items."""
        options, every = len(self.labels), groups + apart
        of_pool = rules.of_pool(self.votes, options, self.rule) if self.votes else []
        pool = rules.group_kappa(groups + of_pool, options)
        seen = {label for item in every for label in item.votes}
        seen.update(self.votes.labels if self.votes else ())
        return rules.report_of(every, sorted(seen), options, self.rule, pool)

    def store(self, groups: list[Judged]) -> int:
        """Store the tiers of the items of the groups; how many items they are new or other for."""
        values: dict[str, list] = {name: [] for name in _COLUMNS}
        for ((_votes, closed), _items), group in zip(self.groups.items(), groups, strict=True):
            counts = (group.votes.get(label, 0) for label in Item.COUNTERS)
            row = (closed, *counts, group.tier, winner_of(group.winner), float(group.share))
            for column, value in zip(values.values(), row, strict=True):
                column.append(value)
        batches = _items_of(self.definition).order_by().values("batch").distinct()
        ids = {"batches": list(batches.values_list("batch", flat=True)), "apart": self.apart}
        with connection.cursor() as cursor:
            cursor.execute(_STORE_TIERS, values | ids | {"shut": self.state.closed})
            return cursor.rowcount


def read(state: reading.StudyState, definition: TaskDefinition, rule: TierRule) -> Tallies | None:
    """The tallies of the task ``definition`` and of its other versions.

    None where single votes are needed of all items: where collection stops early, of too many, or
    to name the vote whose label was not declared.
    """
    items = _items_of(definition)
    apart = [] if rule.stop_below else _apart(items, state, rule)
    if rule.stop_below or len(apart) > MOST_APART:
        return None
    ids = [item.pk for item in apart]
    columns = [Item.COUNTERS[label] for label in state.labels[definition.name]]
    rows = items.exclude(sql.among("pk", ids)).order_by()
    rows = rows.values_list("batch", "overlap", "done", *columns).annotate(n=Count("pk"))
    groups: Counter = Counter()
    for batch, overlap, done, *votes, n in rows:
        if sum(votes) != done:
            return None
        groups[tuple(votes), rules.is_closed(done, overlap, batch in state.closed)] += n
    waiting = frozenset(
        item.external_id
        for item in apart
        if not rules.is_closed(item.done, item.overlap, item.batch_id in state.closed)
    )
    return Tallies(
        state,
        definition,
        rule,
        groups={group: n for group, n in groups.items() if any(group[0])},
        closed=not waiting and all(closed for _votes, closed in groups),
        apart=ids,
        votes=_votes(state, definition, ids),
        collecting=waiting,
        topped=reserve.topped(state.study, definition.name) if ids else frozenset(),
    )


def _votes(
    state: reading.StudyState, definition: TaskDefinition, items: list[UUID]
) -> Votes | None:
    """The single votes of these items; None without any."""
    votes = reading.votes_of(definition, withdrawn=state.withdrawn)
    if not (items and votes.filter(sql.among("slot__item", items)).exists()):
        return None
    return reading.read(state.study, definition, state=state, only=items).votes


def winner_of(label: str | None) -> int | None:
    """The canonical number of the option that won; None for none of them."""
    return int(label) if label and label.isdigit() else None


def _items_of(definition: TaskDefinition) -> QuerySet:
    return definition.study.items.work().filter(
        batch__task__name=definition.name, batch__task__kind=definition.kind
    )


def _apart(items: QuerySet, state: reading.StudyState, rule: TierRule) -> list[Item]:
    """The items whose counts do not tell the votes that the rule uses: MOST_APART and one more."""
    unclear = Q(done__gt=rule.panel)
    if state.withdrawn:
        left = Judgment.objects.standing().filter(slot__study=state.study)
        left = left.filter(annotator__in=state.withdrawn)
        unclear |= Q(pk__in=left.values("slot__item"))
    fields = ("external_id", "done", "overlap", "batch_id")
    return list(items.filter(unclear).only(*fields)[: MOST_APART + 1])
