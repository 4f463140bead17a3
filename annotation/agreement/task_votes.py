"""The votes of one task of a study: its rows as arrays, and what the database adds up of them.

Progress and vote patterns are added up by the database. The rest is read from single votes, of at
most ``CAP`` of them: the votes of the study's first items. Reading many single votes takes longer
than all that is computed from them, so the recomputation stores them.
"""

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from django.db.models import Case, Count, F, FloatField, QuerySet, When
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from annotation.agreement.models import AgreementResult
from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.models import Item
from annotation.questions.base import Measure
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.stored import QuestionVotes, candidates_of, read, workers_of

CAP = 100_000
# So few are read when a page asks, and the page is up to date.
READ_AT_ONCE = 20_000
MOST_RATERS = 40
_DAY = 86_400_000_000


@dataclass(frozen=True)
class Rows:
    """One row a vote, in order of submission; codes from 0 into ``items`` and ``workers``.

    An item is its position in the study. ``category`` is the place of the vote's label among the
    task's, ``number`` the canonical number chosen (0 for none of them), ``place`` where that answer
    was shown (0: missing), ``first`` the number shown first (0: missing), ``seconds`` the time
    spent (NaN: missing).
    """

    items: list
    workers: list
    item: np.ndarray
    worker: np.ndarray
    category: np.ndarray
    number: np.ndarray
    place: np.ndarray
    first: np.ndarray
    seconds: np.ndarray

    def __len__(self) -> int:
        return len(self.item)

    def pack(self) -> bytes:
        """The rows as bytes, from which ``unpack`` makes the same rows again."""
        packed = io.BytesIO()
        np.savez_compressed(packed, **vars(self))
        return packed.getvalue()

    @classmethod
    def of(cls, votes: QuestionVotes, categories: list[int], numbers: list[int]) -> "Rows":
        """The ``votes``, whose labels have these ``categories`` and stand for these answers."""
        votes = votes.take(np.lexsort((votes.judgment, votes.at)))
        items, item = np.unique(votes.item, return_inverse=True)
        users, worker = np.unique(votes.rater, return_inverse=True)
        names = workers_of(users)
        number = np.array(numbers, dtype=np.int64)[votes.label]
        place, _places, first = votes.chosen(numbers)
        return cls(
            items=items.tolist(),
            workers=[names[user] for user in users.tolist()],
            item=item,
            worker=worker,
            category=np.array(categories, dtype=np.int64)[votes.label],
            number=number,
            place=place,
            first=first,
            seconds=votes.seconds,
        )

    @classmethod
    def unpack(cls, packed: bytes) -> "Rows":
        with np.load(io.BytesIO(packed), allow_pickle=False) as stored:
            arrays = {field.name: stored[field.name] for field in fields(cls)}
        lists = {name: arrays[name].tolist() for name in ("items", "workers")}
        return cls(**(arrays | lists))


class Disputed:
    """Items with two votes or more, the most disputed first, of which only some are read.

    An item's own kappa is a function of its votes n and of the sum of squares S of its votes by
    label, and counts tell how many items have which: ``groups`` is {(n, S): items}. So the place
    of each is known, and nothing is sorted. ``items`` have ``judged``, ``squares`` and ``kappa``.
    """

    def __init__(self, items: QuerySet, groups: Mapping[tuple[int, int], int], options: int):
        def place(group: tuple[int, int]) -> tuple[Fraction, int]:
            votes, squares = group
            pairs = votes * (votes - 1)
            return Fraction(options * (squares - votes) - pairs, pairs), -votes

        self.items, self.groups = items, groups
        self.order = sorted((group for group in groups if group[0] > 1), key=place)

    def __len__(self) -> int:
        return sum(self.groups[group] for group in self.order)

    def __iter__(self) -> Iterator[Item]:
        return iter(self[: len(self)])

    def __getitem__(self, part: slice) -> list[Item]:
        """The items from ``part.start`` to ``part.stop``."""
        start, parts, begin = part.start or 0, [], 0
        for votes, squares in self.order:
            same = self.items.filter(judged=votes, squares=squares).order_by("position")
            end = begin + self.groups[votes, squares]
            if start < end and begin < part.stop:
                keys = same.values_list("pk", flat=True)
                parts.append(keys[max(start - begin, 0) : min(part.stop, end) - begin])
            begin = end
        if not parts:
            return []
        keys = parts[0].union(*parts[1:], all=True) if parts[1:] else parts[0]
        places = {group: place for place, group in enumerate(self.order)}
        return sorted(
            self.items.in_bulk(list(keys)).values(),
            key=lambda item: (places.get((item.judged, item.squares), len(places)), item.position),
        )


class TaskVotes:
    """One task of a study. What several figures need is read once.

    ``afresh``: from the votes themselves, however many there are. ``state`` is shared with other
    tasks of the same run.
    """

    def __init__(
        self,
        study: Study,
        definition: TaskDefinition,
        *,
        afresh: bool = False,
        withdrawn: list[int] | None = None,
    ) -> None:
        self.study, self.definition, self.afresh = study, definition, afresh
        self.withdrawn = counting.withdrawn_from(study) if withdrawn is None else withdrawn
        self.task, self.kind = definition.name, kind_of(definition.kind)
        self.config = config_of_task(definition)

    @cached_property
    def items(self) -> QuerySet:
        """The task's items with their counts by label (``counting.items``)."""
        kind, labels = self.definition.kind, self.counted_labels
        return counting.items(self.study, self.task, kind, self.withdrawn, labels)

    @cached_property
    def measures(self) -> list[Measure]:
        """What people are compared on, the primary one first."""
        return counting.measures_of(self.definition)

    @cached_property
    def counted(self) -> Measure:
        """What is counted on each item, else the primary one."""
        return counting.counted_measure(self.definition) or self.measures[0]

    @cached_property
    def labels(self) -> list[str]:
        """All labels that could be given, in the order of their codes."""
        return self.counted_labels

    @cached_property
    def counted_labels(self) -> list[str]:
        """All labels of what is counted on each item."""
        if self.stored:
            return self.stored["labels"]
        return counting.declared(self.definition, self.counted)

    @property
    def counts(self) -> list[str]:
        """The name of each label's count (``counting.items``)."""
        return [f"judged_{place}" for place in range(len(self.counted_labels))]

    @property
    def judgments(self) -> QuerySet:
        """The task's judgments that count."""
        return counting.votes_of(self.definition, withdrawn=self.withdrawn)

    @cached_property
    def totals(self) -> dict:
        """Votes there are, without those of people who left, and wanted; items, complete items."""
        return self.stored["totals"] if self.stored else counting.totals(self.items)

    @cached_property
    def result(self) -> AgreementResult | None:
        """Agreement and tiers as last recomputed."""
        return self.study.agreement_results.filter(task=self.task).defer("sample").first()

    @property
    def level(self) -> str:
        """The scale of the labels, a level of ``stats.LEVELS``."""
        return "nominal"

    @property
    def levels(self) -> list[str]:
        """The scales whose coefficients its page explains."""
        return [self.level]

    @cached_property
    def stored(self) -> dict | None:
        """The sums of the last recomputation, where there are too many votes to read them again."""
        return None if self.afresh or not self.result else self.result.sums

    @cached_property
    def last(self) -> int | None:
        """Place of the last item whose single votes are read; None for all of them."""
        if self.stored:
            return self.stored["last"]
        return counting.last_position(self.study, self.task, CAP, self.definition.kind)

    @cached_property
    def patterns(self) -> list[tuple[tuple[int, ...], bool, int]]:
        """(votes by label, whether the item is complete, items) of every pattern there is."""
        if self.stored:
            return [(tuple(votes), whole, n) for votes, whole, n in self.stored["patterns"]]
        names = (*self.counts, "judged", "overlap")
        rows = self.items.filter(judged__gt=0).order_by(*names).values_list(*names)
        patterns = rows.annotate(n=Count("pk"))
        return [(row[:-3], row[-3] >= row[-2], row[-1]) for row in patterns]

    @cached_property
    def votes(self) -> QuestionVotes:
        """All votes on what is counted."""
        return read(self.definition, self.counted, withdrawn=self.withdrawn)

    @cached_property
    def days(self) -> list[tuple[str, int]]:
        """(day in ISO 8601, judgments) of every day (UTC) with judgments."""
        if self.stored:
            return [tuple(row) for row in self.stored["days"]]
        days, counts = np.unique(self.votes.at // _DAY, return_counts=True)
        dates = days.astype("datetime64[D]").astype(str)
        return list(zip(dates.tolist(), counts.tolist(), strict=True))

    @cached_property
    def raters(self) -> list[tuple[str, int, float | None]]:
        """(annotator, judgments, median of their seconds), most judgments first."""
        if self.stored:
            return [tuple(row) for row in self.stored["raters"]]
        order = np.argsort(self.votes.rater, kind="stable")
        users, starts = np.unique(self.votes.rater[order], return_index=True)
        names, rows = workers_of(users), []
        for user, seconds in zip(
            users.tolist(), np.split(self.votes.seconds[order], starts[1:]), strict=True
        ):
            timed = seconds[np.isfinite(seconds)]
            median = float(np.median(timed)) if len(timed) else None
            rows.append((names[user], len(seconds), median))
        return sorted(rows, key=lambda row: -row[1])

    def columns(self) -> dict[str, Any]:
        """The columns of a result that keep what takes long to read."""
        if self.totals["votes"] <= READ_AT_ONCE:
            return {"sums": None, "sample": None}
        sums = {
            "labels": self.labels,
            "totals": self.totals,
            "patterns": self.patterns,
            "days": self.days,
            "raters": self.raters,
            "last": self.last,
            "characters": self.characters,
            "origins": self._read_origins(),
        }
        return {"sums": sums, "sample": self.rows.pack()}

    @cached_property
    def rows(self) -> Rows:
        """The single votes, as numbers only: making objects of them would take most of the time."""
        if self.stored and self.result and self.result.sample:
            return Rows.unpack(bytes(self.result.sample))
        votes = self.votes
        if self.last is not None:
            votes = votes.take(votes.item <= self.last)
        choices, numbers = counting.answers_chosen(self.definition, self.counted, votes.labels)
        return Rows.of(votes, [self.labels.index(choice) for choice in choices], numbers)

    @cached_property
    def busiest(self) -> np.ndarray:
        """Codes of the annotators with most votes, at most MOST_RATERS, most votes first."""
        votes = np.bincount(self.rows.worker, minlength=len(self.rows.workers))
        return np.argsort(-votes, kind="stable")[:MOST_RATERS]

    @cached_property
    def origins(self) -> dict[str, tuple[list[str], np.ndarray]]:
        """Names of the answers' strategies and models, and a code for every answer.

        The codes are (items, options), items as in ``rows``; -1 where an item has no such answer.
        """
        stored = self.stored["origins"] if self.stored else None
        shape = len(self.rows.items), self.definition.config["options"]
        return {
            key: ([name or _("not named") for name in names], np.reshape(codes, shape))
            for key, (names, codes) in (stored or self._read_origins()).items()
        }

    def _read_origins(self) -> dict[str, tuple[list[str], list[int]]]:
        """``origins`` as they are stored: names in order, "" for none, and codes in one list."""
        positions = np.array(self.rows.items, dtype=np.int64)
        shown = candidates_of(self.study, positions, "strategy", "endpoint", "model")
        at = np.array(list(shown), dtype=np.int64).reshape(-1, 2)
        cells = np.searchsorted(positions, at[:, 0]), at[:, 1] - 1
        texts = {
            "strategies": [strategy or "" for strategy, _endpoint, _model in shown.values()],
            "models": [endpoint or model or "" for _strategy, endpoint, model in shown.values()],
        }
        coded = {}
        for key, named in texts.items():
            names, code = np.unique(np.array(named, dtype=str), return_inverse=True)
            table = np.full((len(positions), self.config["options"]), -1)
            table[cells] = code
            coded[key] = names.tolist(), table.ravel().tolist()
        return coded

    @cached_property
    def characters(self) -> list[int]:
        """Characters of the question and the answers of each of the ``items`` of ``rows``."""
        if self.stored:
            return self.stored["characters"]
        items = self.study.items.work().filter(batch__task__name=self.task)
        if self.last is not None:
            items = items.filter(position__lte=self.last)
        characters = counting.shown_characters(items)
        return [characters[position] for position in self.rows.items]

    @cached_property
    def pace(self) -> np.ndarray:
        """Seconds a thousand characters shown of each of ``rows``; NaN where missing."""
        shown = np.array(self.characters, dtype=float)
        shown[shown == 0] = np.nan
        return 1000 * self.rows.seconds / shown[self.rows.item]

    def of_rows(self, **figures: Any) -> dict:
        """``figures`` with the votes and items that single votes were read of."""
        return {"votes": len(self.rows), "items": len(self.rows.items), **figures}

    def disputed(self, tier: str = "") -> "QuerySet | Disputed":
        """Items with two votes or more, the most disputed first: lowest own kappa, most votes.

        ``tier`` asks for the items of that tier, those of one vote last.
        """
        items = self._with_kappa().select_related("tier")
        if tier:
            items = items.filter(judged__gte=1, tier__tier=tier)
            return items.order_by("kappa", "-judged", "position")
        squares = sum(F(name) * F(name) for name in self.counts)
        groups: Counter[tuple[int, int]] = Counter()
        for votes, _complete, n in self.patterns:
            groups[sum(votes), sum(v * v for v in votes)] += n
        return Disputed(items.annotate(squares=squares), groups, len(self.counted_labels))

    def _with_kappa(self) -> QuerySet:
        """The items with their own ``kappa``, from two votes on."""
        n = Cast("judged", FloatField())
        same = sum(
            Cast(name, FloatField()) * (Cast(name, FloatField()) - 1) for name in self.counts
        )
        k = float(len(self.counted_labels))
        kappa = (k * same / (n * (n - 1.0)) - 1.0) / (k - 1.0)
        return self.items.annotate(kappa=Case(When(judged__gte=2, then=kappa)))

    def votes_of(self, item: Item) -> str:
        """The votes of an item by label, as they stand in a table."""
        votes = [getattr(item, name) for name in self.counts]
        labelled = zip(self.counted_labels, votes, strict=True)
        return ", ".join(f"{label}: {n}" for label, n in labelled if n)
