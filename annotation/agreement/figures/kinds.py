"""The figures of a task without tiers: how far it is, and what people say to each question."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np
from django.db.models import Count
from django.db.models.functions import TruncDate
from django.utils.translation import gettext as _

from annotation.agreement.figures import dashboard, summary
from annotation.agreement.figures.board import About, Board
from annotation.agreement.figures.progress import by_day, tiers, vote_patterns
from annotation.agreement.figures.raters import sides
from annotation.agreement.figures.scores import origin_means, spread_figure
from annotation.agreement.figures.strategies import ranked
from annotation.agreement.statistics.bradley_terry import bradley_terry
from annotation.agreement.statistics.coefficient import (
    Coefficient,
    undefined,
    with_normal_interval,
)
from annotation.agreement.statistics.cohen import cohen, confusion_of_two
from annotation.agreement.statistics.icc import icc, sums_of_table
from annotation.agreement.statistics.kendall import concordance, mean_over_items
from annotation.agreement.task_votes import TaskVotes
from annotation.agreement.wording import translated
from annotation.core import charts, sql
from annotation.core.charts import Dot
from annotation.judging.models import Batch
from annotation.judging.work import hidden_checks
from annotation.questions import questions_of
from annotation.questions.base import Measure, Question
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.stored import QuestionVotes, candidates_of, rankings_of, read

LEVELS = ("nominal", "ordinal", "ranks")


@dataclass(frozen=True)
class Spread:
    """How far the answers to an item differ: its name, its digits on a page, a sentence on it."""

    name: str
    digits: int
    lead: str


class UnitRows:
    """Rows of a table of items, of which only those that are shown are made.

    ``make(place)`` gives a row without its item, ``items`` (rows,) are places in the study.
    """

    def __init__(
        self, study: Study, items: Sequence[int], make: Callable[[int], dict[str, Any]]
    ) -> None:
        self.study, self.items, self.make = study, items, make

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self[:])

    def __getitem__(self, part: slice) -> list[dict[str, Any]]:
        """The rows of a slice: {"item" (its id), "name", "position", …}."""
        shown = range(len(self))[part]
        positions = [int(self.items[place]) for place in shown]
        rows = self.study.items.filter(sql.among("position", set(positions)))
        ids = {at: row for at, *row in rows.values_list("position", "pk", "external_id")}
        return [
            dict(zip(("item", "name"), ids[at], strict=True)) | {"position": at} | self.make(place)
            for at, place in zip(positions, shown, strict=True)
        ]


class KindBoard(Board):
    """One task without tiers, by its measures: what is read of it are answers to each question."""

    def __init__(self, study: Study, definition: TaskDefinition) -> None:
        super().__init__(study, definition, afresh=True)
        self.declared = list(self.measures[0].labels) if self.measures else []

    @cached_property
    def answers(self) -> dict[str, QuestionVotes]:
        """{measure's name: its votes}."""
        return {
            each.name: read(self.definition, each, last=self.last, withdrawn=self.withdrawn)
            for each in self.measures
        }

    @property
    def votes(self) -> QuestionVotes:  # type: ignore[override]
        """Those on the primary question."""
        return self.answers[self.measures[0].name]

    @cached_property
    def labels(self) -> list[str]:
        """What an answer chooses: of a scale between two answers its side."""
        return self.kind.choices(self.config)

    @cached_property
    def counted_labels(self) -> list[str]:
        """All labels by which items get tiers; none of a task without tiers."""
        return counting.declared(self.definition, self.counted) if self.has_tiers else []

    @cached_property
    def has_tiers(self) -> bool:
        """Whether the task's items get tiers."""
        return counting.has_tiers(self.definition)

    @cached_property
    def days(self) -> list[tuple[str, int]]:
        """(day in ISO 8601, judgments) of every day (UTC) with judgments."""
        judgments = self.judgments.annotate(day=TruncDate("submitted_at")).values_list("day")
        counts = judgments.annotate(n=Count("pk")).order_by("day")
        return [(day.isoformat(), n) for day, n in counts]

    @property
    def makers(self) -> dict:
        """Figures of the task's page, in order."""
        return {key: MAKERS[key] for key in self.shown}

    @property
    def shown(self) -> tuple[str, ...]:
        """The figures' names. Answers that are one person's own are only counted by day."""
        if not self.measures:
            return ("days",)
        if self.ranked:
            return ("agreement", "answers", "strategies", "days")
        sides = ("sides",) if self.two_sided else ()
        means = ("strategy_means", "model_means") if self.two_sided or self.scored else ()
        retest = ("retest",) if self.config["owner_only"] else ()
        by_item = ("tiers", "patterns") if self.has_tiers else ()
        return ("agreement", *by_item, "answers", *means, *sides, *retest, "days")

    # What sort of answers there are

    @property
    def single(self) -> bool:
        """Whether an answer is one label."""
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

    @property
    def levels(self) -> list[str]:
        """The scales of the questions, each once."""
        return [level for level in LEVELS if level in {each.level for each in self.measures}]

    @property
    def level(self) -> str:
        """The first scale among the questions."""
        return next(iter(self.levels), "nominal")

    # In words

    def words(self) -> dict[str, tuple]:
        """Those of a selection, and what only this page shows."""
        return dashboard.words() | _words()

    def named(self, label: str) -> str:
        """A label in words; answers by their canonical numbers."""
        words = self.kind.label_words(label, self.config)
        named = _("%(label)s: %(words)s") % {"label": label, "words": words}
        return named if self.level == "ordinal" else words

    def words_of(self, measure: Measure, label: str) -> str:
        """A label of a question of the task's own in words."""
        question = self.questions[measure.question]
        return label if measure.of_class else question.label_words(label)

    @property
    def question(self) -> str:
        """What the task asks, in a few words."""
        return str(self.kind.name)

    # What is disputed. Its page shows rows of values, and no tiers.

    def disputed(self) -> UnitRows:  # type: ignore[override]
        """Rows of an item, or of an answer and a question, with two answers or more.

        The least agreed on first: on a scale by the standard deviation of the answers, otherwise
        by the item's own kappa, of several questions by how many different answers there are.
        ``measure`` has it, ``judged`` how many there are, ``counts`` how many of each label.
        """
        if self.ranked:
            return self._disputed_orders()
        parts = []
        for name in sorted(self.answers):
            votes = self.answers[name]
            measure = next(each for each in self.measures if each.name == name)
            units, unit = votes.units
            code = votes.coded(measure.labels)
            cell = unit[code >= 0] * len(measure.labels) + code[code >= 0]
            size = len(units) * len(measure.labels)
            counts = np.bincount(cell, minlength=size).reshape(len(units), len(measure.labels))
            judged = counts.sum(axis=1)
            several = judged > 1
            value = self._value(measure, counts[several])
            parts.append((measure, units[several], counts[several], judged[several], value))
        item, option, judged, value, part, row = (
            np.concatenate([np.zeros(0), *columns])
            for columns in zip(
                *((u[:, 0], u[:, 1], judged, value, np.full(len(u), n), np.arange(len(u)))
                  for n, (_m, u, _c, judged, value) in enumerate(parts)),
                strict=True,
            )
        )  # fmt: skip
        order = np.lexsort((part, option, item, -judged, value))

        def make(place: int) -> dict[str, Any]:
            at = order[place]
            measure, _units, counts, _judged, _value = parts[int(part[at])]
            given = counts[int(row[at])].tolist()
            return {
                "about": measure.name,
                "number": int(option[at]) or None,
                "judged": int(judged[at]),
                "measure": abs(value[at]) if self.level == "ordinal" or self.mixed else value[at],
                "counts": dict(zip(measure.labels, given, strict=True)),
                "of": measure,
            }

        return UnitRows(self.study, item[order].astype(int).tolist(), make)

    @property
    def mixed(self) -> bool:
        """Whether there are several questions that have no scale in common."""
        return not (self.single or self.scored)

    def _value(self, measure: Measure, counts: np.ndarray) -> np.ndarray:
        """What rows of ``counts`` (units, labels) are in order of, the most disputed least."""
        n = counts.sum(axis=1)
        if self.mixed:
            return -(counts > 0).sum(axis=1).astype(float)
        if measure.level == "ordinal":
            points = np.array([float(label) for label in measure.labels])
            total, squares = counts @ points, counts @ points**2
            return -np.sqrt(np.maximum(squares - total**2 / n, 0) / (n - 1))
        k = len(measure.labels)
        same = (counts * (counts - 1)).sum(axis=1)
        return (k * same / (n * (n - 1)) - 1) / (k - 1)

    def _disputed_orders(self) -> UnitRows:
        rows = []
        for item, places in rankings_of(self.votes):
            if len(places) > 1:
                w = concordance(places)
                rows.append((item, places, w if np.isfinite(w) else None))
        rows.sort(key=lambda row: (row[2] is None, row[2] or 0, row[0]))

        def make(place: int) -> dict[str, Any]:
            _item, places, w = rows[place]
            orders = ", ".join("-".join(map(str, order)) for order in places.tolist())
            return {"judged": len(places), "measure": w, "orders": orders}

        return UnitRows(self.study, [row[0] for row in rows], make)

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
        if self.level != "ordinal":
            lead = _(
                "Items with two votes or more, the lowest own kappa first; an item's kappa is "
                "(K·S − D) / ((K−1)·D) of its votes."
            )
            return Spread(_("Own kappa"), 3, lead)
        lead = _("Items with two judgments or more, the widest spread first.")
        if self.scored:
            lead = _(
                "An item's answer and a criterion with two scores or more, the widest spread first."
            )
        return Spread(_("Standard deviation"), 2, lead)

    def votes_of(self, row: dict) -> str:  # type: ignore[override]
        """The answers of a row of ``disputed``: places on a scale one by one, words counted."""
        if self.ranked:
            return row["orders"]
        counts, measure = row["counts"].items(), row["of"]
        if self.mixed:
            said = ", ".join(f"{self.words_of(measure, label)}: {n}" for label, n in counts if n)
            of = _("answer %(n)d") % {"n": row["number"]} if row["number"] else ""
            asked = self.questions[measure.question].words
            about = [asked, measure.of_class, of]
            return f"{', '.join(filter(None, about))} · {said}"
        if self.level == "ordinal":
            return " ".join(label for label, n in counts for _each in range(n))
        return ", ".join(f"{_(label)}: {n}" for label, n in counts if n)


def _words() -> dict[str, tuple]:
    means = _(
        "The mean of all scores, or of preferences from 0 (the other answer is much better) to 1 "
        "(this one is). Intervals are percentiles over 1,000 resamples of people."
    )
    return {
        "strategy_means": (
            _("Means by strategy"),
            _("What people gave the answers of each strategy."),
            means,
        ),
        "model_means": (
            _("Means by model"),
            _("What people gave the answers of each endpoint or model."),
            means,
        ),
        "answers": (
            _("What was said"),
            _("How often each answer was given."),
            _("A count of all judgments, with no more than one a person and item."),
        ),
        "retest": (
            _("Test and retest"),
            _("How far owners judge their own items alike, some days apart."),
            _(
                "Of scores ICC(2,1): two-way, absolute agreement, with its F-interval. Of other "
                "answers Cohen's kappa of the first and the second answer, with its large-sample "
                "interval. Second judgments count in no other figure."
            ),
        ),
        "sides": (
            _("Side bias"),
            _("Share of preferences that fell on the answer shown first."),
            _(
                "All: a z test clustered by item. Each annotator: the exact binomial test and "
                "interval, p-values adjusted after Holm. “No preference” and unknown orders are "
                "left out."
            ),
        ),
    }


def answers(board: KindBoard, about: About) -> dict:
    """How often each label was given; of scores how those of each criterion spread."""
    if board.ranked:
        return mean_places(board, about)
    given = {
        each.name: _counts(board.answers[each.name], each.labels).tolist()
        for each in board.measures
    }
    if board.scored:
        return spread_figure({name: counts for name, counts in given.items() if any(counts)})
    if board.mixed:
        return _of_questions(board, about, given)
    total = sum(given[""])
    counts = list(zip(board.declared, given[""], strict=True))
    rows = [(board.named(label), n, n / total) for label, n in counts]
    header = (_("Answer"), _("Judgments"), _("Share"))
    lead = about.lead
    if board.level == "ordinal":
        ends = {"first": board.named(board.declared[0]), "last": board.named(board.declared[-1])}
        named = _("%(first)s; %(last)s.") % ends
        lead = f"{lead} {named}"
    axes = (_("Answer"), _("Judgments"))
    axes = axes if board.level == "ordinal" else axes[::-1]
    chart = charts.columns if board.level == "ordinal" else charts.bars
    drawn = counts if board.level == "ordinal" else [row[:2] for row in rows]
    svg = about._replace(lead=lead).draw(chart, drawn, axes=axes)
    return {"header": header, "rows": rows, "svg": svg, "lead": lead, "votes": total}


def _counts(votes: QuestionVotes, labels: Sequence[str]) -> np.ndarray:
    code = votes.coded(labels)
    return np.bincount(code[code >= 0], minlength=len(labels))


def _of_questions(board: KindBoard, about: About, given: dict[str, list[int]]) -> dict:
    """How often each answer was given to each question; of several classes each is counted."""
    rows: list[tuple] = []
    for question in board.questions.values():
        measures = [each for each in board.measures if each.question == question.name]
        counts = [
            (each.of_class or question.label_words(label), n)
            for each in measures
            for label, n in zip(each.labels, given[each.name], strict=True)
            if not each.of_class or label == "yes"
        ]
        if not measures:
            written = board.judgments.filter(answers__question=question.name)
            counts = [(_("texts"), written.count())]
        total = sum(n for _label, n in counts)
        rows += [(question.words, label, n, n / total) for label, n in counts if total]
    header = (_("Question"), _("Answer"), _("Judgments"), _("Share"))
    drawn = [(f"{question}: {label}", n) for question, label, n, _share in rows]
    svg = about.draw(charts.bars, drawn, axes=(_("Judgments"), _("Answer"))) if drawn else ""
    return {"header": header, "rows": rows, "svg": svg}


def mean_places(board: Board, about: About) -> dict:
    """The mean place of each strategy's answers, over items, with its interval."""
    from scipy.stats import rankdata  # a second and 40 MB, needed for rankings alone

    names, items = _strategies(board)
    by_name = {name: [] for name in sorted(set(chain.from_iterable(names)))}
    firsts = dict.fromkeys(by_name, 0)
    for strategies, item in zip(names, items, strict=True):
        means = rankdata(item, axis=1).mean(axis=0)
        for column, name in enumerate(strategies):
            by_name[name].append(float(means[column]))
            firsts[name] += int((item[:, column] == 1).sum())
    # Versions of the task may differ in their number of answers.
    options = max(len(strategies) for strategies in names)
    table: list[tuple] = []
    for name, values in by_name.items():
        # with_t_interval cuts at a coefficient's limits; places go up to the number of options.
        mean = mean_over_items([value / options for value in values], floor=0.0)
        limits = [None if x is None else x * options for x in (mean.value, mean.low, mean.high)]
        table.append((name, len(values), firsts[name], *limits))
    table.sort(key=lambda row: (row[3], row[0]))
    lead = _("The mean place of each strategy's answers; 1 is best.")
    marks = [Dot(row[0], *row[3:6]) for row in table]
    svg = about._replace(lead=lead).draw(
        charts.dots, marks, reference=(options + 1) / 2, axes=(_("Mean place"), _("Strategy"))
    )
    header = (_("Strategy"), _("Items"), _("Times best"), _("Mean place"), _("low"), _("high"))
    votes = sum(map(len, items))
    return {"header": header, "rows": table, "svg": svg, "lead": lead, "votes": votes}


def strengths(board: Board, about: About) -> dict:
    """Bradley-Terry strengths of strategies, from every two answers that a ranking orders."""
    names, items = _strategies(board)
    code = {name: n for n, name in enumerate(sorted(set(chain.from_iterable(names))))}
    pairs = []
    for place, (strategies, item) in enumerate(zip(names, items, strict=True)):
        for a, b in combinations(range(len(strategies)), 2):
            if strategies[a] != strategies[b]:
                left, right = code[strategies[a]], code[strategies[b]]
                scores = (np.sign(item[:, b] - item[:, a]) + 1) / 2
                pairs += [(left, right, score, place) for score in scores.tolist()]
    if not pairs:
        return {"reason": _("No vote compares two of them.")}
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    first, second, of_item = (columns[n].astype(int) for n in (0, 1, 3))
    fit = bradley_terry(first, second, columns[2], len(code), item=of_item)
    if fit.strength is None:
        return {"reason": translated(fit.reason)}
    compared = np.bincount(first, minlength=len(code)) + np.bincount(second, minlength=len(code))
    return ranked(about, fit, list(code), compared, of_item)


def _strategies(board: Board) -> tuple[list[list[str]], list[np.ndarray]]:
    """Each item's strategies in order of its options' numbers, and its rankings."""
    items, places = zip(*rankings_of(board.votes), strict=True)
    shown = candidates_of(board.study, np.array(items), "strategy")
    names: dict[int, list[str]] = {item: [] for item in items}
    for (item, _number), (strategy,) in shown.items():
        names[item].append(strategy or _("not named"))
    return list(names.values()), list(places)


Pairs = list[tuple[object, object]]


def retest(board: TaskVotes, about: About) -> dict:
    """Reliability of each criterion of scores, else of the answer, with interval and pairs."""
    second = {"slot__item__batch__task__name": board.task}
    outcomes = hidden_checks.outcomes(board.study, Batch.Purpose.REPEAT, **second)
    if not outcomes:
        return {"reason": _("Nobody has judged an own item twice yet.")}
    rows = [
        (name, measure, result.value, result.low, result.high, len(pairs), result.reason or "")
        for name, measure, result, pairs in _measured(board, outcomes)
    ]
    dots = [charts.Dot(row[0], *row[2:5]) for row in rows if row[2] is not None]
    axes = (rows[0][1], _("What was judged"))
    return {
        "header": (
            _("What was judged"), _("Measure"), _("Value"), _("Low"), _("High"), _("Pairs"),
            _("Note"),
        ),
        "rows": rows,
        "svg": about.draw(charts.dots, dots, reference=0, axes=axes) if dots else "",
        "votes": len(outcomes),
    }  # fmt: skip


def _measured(board: TaskVotes, outcomes: list) -> list[tuple[str, str, Coefficient, Pairs]]:
    if not isinstance(outcomes[0].label, dict):
        pairs: Pairs = [(row.expected, row.label) for row in outcomes]
        return [(_("Answer"), _("Cohen's kappa"), kappa_of(pairs), pairs)]
    by_criterion: dict[str, Pairs] = defaultdict(list)
    for row in outcomes:
        for place in row.expected.keys() & row.label.keys():
            criterion = place.rpartition("/")[2]
            by_criterion[criterion].append((row.expected[place], row.label[place]))
    names = dict.fromkeys(each.question for each in board.measures)
    return [_of_question(name, by_criterion[name]) for name in names if name in by_criterion]


def _of_question(name: str, pairs: Pairs) -> tuple[str, str, Coefficient, Pairs]:
    """Of scores the ICC, of words Cohen's kappa."""
    if all(type(value) is int for pair in pairs for value in pair):
        return _(name), "ICC(2,1)", icc_of(pairs), pairs
    return _(name), _("Cohen's kappa"), kappa_of(pairs), pairs


def icc_of(pairs: Pairs) -> Coefficient:
    """ICC(2,1) of (first, second) scores: absolute agreement of two occasions."""
    if len(pairs) < 2:
        return undefined("two pairs or more are needed")
    return icc(sums_of_table(np.array(pairs, dtype=float)))["icc2"]


def kappa_of(pairs: Pairs) -> Coefficient:
    """Cohen's kappa of (first, second) labels."""
    names = {label: code for code, label in enumerate(sorted({str(v) for p in pairs for v in p}))}
    first, second = ([names[str(pair[side])] for pair in pairs] for side in (0, 1))
    if len(names) < 2:
        return undefined("only one answer was given")
    value, se = (numbers[0] for numbers in cohen(confusion_of_two(first, second, len(names))))
    if not np.isfinite(value):
        return undefined("only one answer was given")
    return with_normal_interval(float(value), float(se))


MAKERS = {
    "days": by_day,
    "agreement": summary.agreement,
    "tiers": tiers,
    "patterns": vote_patterns,
    "answers": answers,
    "sides": sides,
    "strategies": strengths,
    "retest": retest,
    "strategy_means": origin_means,
    "model_means": origin_means,
}
