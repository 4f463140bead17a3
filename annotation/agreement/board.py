"""The votes of one task of a study: its rows as arrays, and what the database adds up of them.

Progress and vote patterns are added up by the database. The rest is read from single votes, of at
most ``CAP`` of them: the votes of the study's first items. Reading many single votes takes longer
than all that is computed from them, so the recomputation stores them.
"""

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Case, Count, F, FloatField, QuerySet, When
from django.db.models.functions import Cast, TruncDate
from django.utils.translation import gettext as _

from annotation.agreement.models import AgreementResult
from annotation.agreement.statistics.correlation import concordance
from annotation.agreement.statistics.tiers import DEFAULT
from annotation.core import sql
from annotation.judging.kinds import config_of_task, kind_of
from annotation.judging.models import Item
from annotation.questions import questions_of
from annotation.questions.base import SCALES, Measure, Question
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.stored import (
    QuestionVotes,
    candidates_of,
    rankings_of,
    read,
    workers_of,
)

CAP = 100_000
# So few are read when a page asks, and the page is up to date.
READ_AT_ONCE = 20_000
MOST_RATERS = 40
LEVELS = ("nominal", "ordinal", "interval", "ranks")
# What of a board is stored where reading it again takes long.
KEPT = ("counted_labels", "totals", "patterns", "days", "last", "origin_codes")


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


class Spread(NamedTuple):
    """How far the answers to an item differ: its name, its digits on a page, a sentence on it."""

    name: str
    digits: int
    lead: str


class Board:
    """One task of a study. What several figures need is read once.

    ``afresh``: from the votes themselves, however many there are. ``withdrawn`` are the people
    whose votes are left out, read where they are None.
    """

    def __init__(
        self,
        study: Study,
        definition: TaskDefinition,
        *,
        afresh: bool = False,
        withdrawn: list[int] | None = None,
    ) -> None:
        self.study, self.definition = study, definition
        self.withdrawn = counting.withdrawn_from(study) if withdrawn is None else withdrawn
        self.task, self.kind = definition.name, kind_of(definition.kind)
        self.config = config_of_task(definition)
        self.is_kept = False
        if not afresh and self.result and self.result.sums:
            self.is_kept = True
            vars(self).update(self.result.sums)

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
        """All labels that could be given, in the order of their codes; of a scale between two
        answers its sides."""
        return self.counted_labels or self.kind.choices(self.config)

    @cached_property
    def declared(self) -> list[str]:
        """All labels of the primary question."""
        return list(self.measures[0].labels) if self.measures else []

    @cached_property
    def counted_labels(self) -> list[str]:
        """All labels by which items get tiers; none of a task without tiers."""
        return counting.declared(self.definition, self.counted) if self.has_tiers else []

    @cached_property
    def has_tiers(self) -> bool:
        """Whether the task's items get tiers."""
        return counting.has_tiers(self.definition)

    @cached_property
    def tells_tiers(self) -> bool:
        """Whether tiers say anything: the task asks for votes enough, or an item has a tier."""
        found = self.result.tiers["tiers"] if self.result and self.result.tiers else {}
        judged = any(tier["items"] for name, tier in found.items() if name != "pending")
        return judged or (self.has_tiers and self.definition.overlap >= DEFAULT.minimum)

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
        return counting.totals(self.items)

    @cached_property
    def result(self) -> AgreementResult | None:
        """Agreement and tiers as last recomputed."""
        return self.study.agreement_results.filter(task=self.task).defer("sample").first()

    @cached_property
    def last(self) -> int | None:
        """Place of the last item whose single votes are read; None for all of them."""
        if self.totals["votes"] <= CAP:
            return None
        return counting.last_position(self.study, self.task, CAP, self.definition.kind)

    @cached_property
    def patterns(self) -> list[tuple[tuple[int, ...], bool, int]]:
        """(votes by label, whether the item is complete, items) of every pattern there is."""
        names = (*self.counts, "judged", "overlap")
        rows = self.items.filter(judged__gt=0).order_by(*names).values_list(*names)
        patterns = rows.annotate(n=Count("pk"))
        return [(row[:-3], row[-3] >= row[-2], row[-1]) for row in patterns]

    @cached_property
    def votes(self) -> QuestionVotes:
        return read(self.definition, self.counted, withdrawn=self.withdrawn)

    @cached_property
    def days(self) -> list[tuple[str, int]]:
        """(day in ISO 8601, judgments) of every day (UTC) with judgments."""
        judgments = self.judgments.annotate(day=TruncDate("submitted_at")).values_list("day")
        counts = judgments.annotate(n=Count("pk")).order_by("day")
        return [(day.isoformat(), n) for day, n in counts]

    def columns(self) -> dict[str, Any]:
        """The columns of a result that keep what takes long to read."""
        if self.totals["votes"] <= READ_AT_ONCE:
            return {"sums": None, "sample": None}
        sums = {name: getattr(self, name) for name in KEPT}
        return {"sums": sums, "sample": self.rows.pack()}

    @cached_property
    def rows(self) -> Rows:
        """The single votes, as numbers only: making objects of them would take most of the time."""
        if self.is_kept and self.result and self.result.sample:
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
    def answers(self) -> dict[str, QuestionVotes]:
        """{measure's name: its votes}, of items up to ``last``."""
        return {
            each.name: read(self.definition, each, last=self.last, withdrawn=self.withdrawn)
            for each in self.measures
        }

    @property
    def rankings(self) -> list[tuple[int, np.ndarray]]:
        """(item's place in the study, places (raters, options)) of every ranked item."""
        return rankings_of(self.answers[self.measures[0].name])

    @cached_property
    def origins(self) -> dict[str, tuple[list[str], np.ndarray]]:
        """Names of the answers' strategies and models, and a code for every answer.

        The codes are (items, options), items as in ``rows``; -1 where an item has no such answer.
        """
        shape = len(self.rows.items), self.definition.config["options"]
        return {
            key: ([name or _("not named") for name in names], np.reshape(codes, shape))
            for key, (names, codes) in self.origin_codes.items()
        }

    @cached_property
    def origin_codes(self) -> dict[str, tuple[list[str], list[int]]]:
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

    # What sort of answers there are

    @property
    def single(self) -> bool:
        return [each.name for each in self.measures] == [""]

    @property
    def ranked(self) -> bool:
        """Whether an answer is an order of answers, and nothing else."""
        return self.single and self.level == "ranks"

    @property
    def scored(self) -> bool:
        """Whether an answer is a point on a scale for each of several criteria."""
        return counting.are_scores(self.measures)

    @property
    def two_sided(self) -> bool:
        """Whether labels are places on a scale from one answer to another."""
        return self.single and self.labels != self.declared

    @cached_property
    def questions(self) -> dict[str, Question]:
        """{name: question} of a task with questions of its own."""
        asked = self.config.get("questions", [])
        return {q.name: q for q in questions_of(asked, self.config["options"])} if asked else {}

    @cached_property
    def titles(self) -> dict[str, str]:
        """What is asked by the names of what is compared."""
        return counting.titles_of(self.definition)

    @property
    def marking(self) -> list[Question]:
        return [question for question in self.questions.values() if question.MARKS]

    @property
    def levels(self) -> list[str]:
        """The scales of the questions, each once."""
        return [level for level in LEVELS if level in {each.level for each in self.measures}]

    @property
    def level(self) -> str:
        """The first scale among the questions."""
        return next(iter(self.levels), "nominal")

    # In words

    def named(self, label: str) -> str:
        """A label in words; answers by their canonical numbers."""
        words = self.kind.label_words(label, self.config)
        named = _("%(label)s: %(words)s") % {"label": label, "words": words}
        return named if self.level == "ordinal" else words

    @property
    def label_words(self) -> list[str]:
        return [self.kind.label_words(label, self.config) for label in self.labels]

    def words_of(self, measure: Measure, label: str) -> str:
        """A label of a question of the task's own in words."""
        question = self.questions[measure.question]
        return label if measure.of_class else question.label_words(label)

    # What is disputed

    def disputed(self, tier: str = "") -> "QuerySet | Disputed | list[dict]":
        """What two people or more said of, the most disputed first.

        Of choices, items: lowest own kappa, most votes. Of other kinds rows of an item, or of an
        answer and a question. ``tier`` asks for the items of that tier, those of one vote last.
        """
        if not tier and not self.kind.chooses:
            return self._disputed_orders() if self.ranked else self._disputed_units()
        items = self._with_kappa().select_related("tier", "query", "attribute")
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

    def lines(self, rows: Iterable) -> list[dict[str, Any]]:
        """Rows of ``disputed`` as they stand in the table."""
        rows = list(rows)
        if not rows or isinstance(rows[0], dict):
            places = sql.among("position", {row["position"] for row in rows})
            items = self.study.items.filter(places).select_related("query", "attribute")
            at = {item.position: item for item in items}
            return [
                row | {"votes": self.votes_of(row), "item": at[row["position"]]} for row in rows
            ]
        return [
            {
                "item": row,
                "votes": self.votes_of(row),
                "judged": f"{row.judged} / {row.overlap}",
                "measure": row.kappa,
                "tier": row.tier.tier if hasattr(row, "tier") else "",
            }
            for row in rows
        ]

    def _disputed_units(self) -> list[dict[str, Any]]:
        """Rows of an item, or of an answer and a question, with two answers or more.

        The least agreed on first: on a scale by the standard deviation of the answers, otherwise
        by the item's own kappa, of several questions by how many different answers there are.
        ``measure`` has it, ``judged`` how many there are, ``counts`` how many of each label.
        """
        rows = []
        for measure in sorted(self.measures, key=lambda each: each.name):
            votes = self.answers[measure.name]
            units, unit = votes.units
            code, k = votes.coded(measure.labels), len(measure.labels)
            # Of a hundred labels an item has few: only what was given is counted.
            cell, n = np.unique(unit[code >= 0] * k + code[code >= 0], return_counts=True)
            of, label = np.divmod(cell, k)
            values = self._value(measure, of, label, n, len(units))
            judged = np.bincount(of, n, len(units))
            begins = np.searchsorted(of, np.arange(len(units) + 1))
            for place in np.flatnonzero(judged > 1).tolist():
                item, option = units[place].tolist()
                cells = slice(begins[place], begins[place + 1])
                labels = [measure.labels[each] for each in label[cells].tolist()]
                value = float(values[place])
                rows.append({
                    "position": item, "number": option or None,
                    "about": self.titles.get(measure.name, ""),
                    "of": measure, "counts": dict(zip(labels, n[cells].tolist(), strict=True)),
                    "judged": int(judged[place]), "value": value,
                    "measure": abs(value) if self.level in SCALES or self.mixed else value,
                })  # fmt: skip
        rows.sort(
            key=lambda row: (row["value"], -row["judged"], row["position"], row["number"] or 0)
        )
        return rows

    @property
    def mixed(self) -> bool:
        """Whether there are several questions that have no scale in common."""
        return not (self.single or self.scored)

    def _value(
        self, measure: Measure, of: np.ndarray, label: np.ndarray, times: np.ndarray, units: int
    ) -> np.ndarray:
        """What the ``units`` are in order of, the most disputed least; a unit ``of`` whom a code
        ``label`` was given ``times``.
        """
        if self.mixed:
            return -np.bincount(of, minlength=units).astype(float)
        n, k = np.bincount(of, times, units), len(measure.labels)
        with np.errstate(invalid="ignore", divide="ignore"):  # of one answer
            if measure.level in SCALES:
                points = np.array([float(each) for each in measure.labels])[label]
                total = np.bincount(of, times * points, units)
                squares = np.bincount(of, times * points**2, units)
                return -np.sqrt(np.maximum(squares - total**2 / n, 0) / (n - 1))
            same = np.bincount(of, times * (times - 1), units)
            return (k * same / (n * (n - 1)) - 1) / (k - 1)

    def _disputed_orders(self) -> list[dict[str, Any]]:
        rows = []
        for item, places in self.rankings:
            if len(places) > 1:
                w = concordance(places)
                orders = ", ".join("-".join(map(str, order)) for order in places.tolist())
                measure = w if np.isfinite(w) else None
                rows.append({"position": item, "judged": len(places), "orders": orders,
                             "measure": measure})  # fmt: skip
        rows.sort(key=lambda row: (row["measure"] is None, row["measure"] or 0, row["position"]))
        return rows

    @property
    def measure(self) -> Spread:
        """By what ``disputed`` is in order."""
        if self.ranked:
            lead = _(
                "Items with two rankings or more, the lowest W first; a ranking is the places of "
                "answers 1, 2, …"
            )
            return Spread(_("Kendall's W"), 3, lead)
        if self.mixed:
            lead = _(
                "Questions on an item, or on one of its answers, that two people or more answered; "
                "those with most different answers first."
            )
            return Spread(_("Different answers"), 0, lead)
        if self.level not in SCALES:
            lead = _(
                "Items with two votes or more, the lowest own kappa first; an item's kappa is "
                "(K·S − D) / ((K−1)·D) of its votes."
            )
            return Spread(_("Own kappa"), 3, lead)
        lead = _("Items with two judgments or more, the widest spread first.")
        of_scores = _(
            "An item's answer and a criterion with two scores or more, the widest spread first."
        )
        return Spread(_("Standard deviation"), 2, of_scores if self.scored else lead)

    def votes_of(self, row: Item | dict) -> str:
        """The answers of a row of ``disputed``: places on a scale one by one, words counted."""
        if isinstance(row, Item):
            votes = (getattr(row, name) for name in self.counts)
            by_label = zip(self.label_words, votes, strict=True)
            return ", ".join(f"{words}: {n}" for words, n in by_label if n)
        if self.ranked:
            return row["orders"]
        counts, measure = row["counts"].items(), row["of"]
        if self.mixed:
            counted = ", ".join(f"{self.words_of(measure, label)}: {n}" for label, n in counts)
            of = _("answer %(n)d") % {"n": row["number"]} if row["number"] else ""
            asked = self.questions[measure.question].words
            about = [asked, measure.of_class, of]
            return f"{', '.join(filter(None, about))} · {counted}"
        if self.level in SCALES:
            return " ".join(label for label, n in counts for _each in range(n))
        return ", ".join(f"{_(label)}: {n}" for label, n in counts)
