"""Stores the votes of an imported file: the rows of one worker on one item are one judgment.

Lines that cannot be imported are listed, and refused together.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from django.db import connection
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from psycopg.types.json import Jsonb

from annotation.core.errors import DomainError
from annotation.core.records import clean, number_of
from annotation.imports import shape
from annotation.imports.mapping import Mapping
from annotation.imports.shape import Row, Vote
from annotation.judging.imports.judgments import Imported, Storing, Target
from annotation.judging.kinds import KINDS
from annotation.judging.kinds.files import WIDER, ImportedFile, ImportedJudgment, Range
from annotation.studies.models import Study

FAULTS_LIMIT = 100_000


@dataclass
class Faults:
    """Lines that are not imported; beyond FAULTS_LIMIT they are only counted."""

    rows: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0
    # What a task could be given to take lines that do not fit it (a name of WIDER): its name.
    wider: dict[str, str] = field(default_factory=dict)
    # Whether a line is a further judgment of one person, which repeats could be.
    repeated: bool = False

    def add(self, line: int, reason: str) -> None:
        self.count += 1
        if len(self.rows) < FAULTS_LIMIT:
            self.rows.append((line, clean(reason)))

    def add_all(self, others: "Faults") -> None:
        """Add those of ``others`` that are not among them."""
        for line, reason in set(others.rows).difference(self.rows):
            self.add(line, reason)
        self.rows.sort()
        self.repeated |= others.repeated

    def as_json(self, limit: int | None = None) -> list[dict]:
        """Line and reason of each, of the first ``limit``."""
        return [{"line": line, "reason": reason} for line, reason in self.rows[:limit]]

    def offers(self) -> list[str]:
        """The changes of tasks that would make lines fit, a sentence for each."""
        words = _("The task “%(task)s” would take more of them with: %(change)s (%(name)s).")
        offers = [
            words % {"task": task, "change": WIDER[name], "name": name}
            for name, task in sorted(self.wider.items())
        ]
        if self.repeated:
            offers.append(_("Further judgments of one person can be kept as repeats."))
        return offers


class FaultsError(DomainError):
    """Lines are faulty and none may be left out; ``faults`` lists them."""

    code = "faulty_lines"

    def __init__(self, faults: Faults, sentence: str = "") -> None:
        sentence = sentence or (
            ngettext(
                "%d line is faulty. Nothing was imported: correct it, or leave it out.",
                "%d lines are faulty. Nothing was imported: correct them, or leave them out.",
                faults.count,
            )
            % faults.count
        )
        super().__init__(" ".join([sentence, *faults.offers()]))
        self.faults = faults


# --- Votes ----------------------------------------------------------------------------------------


ITEMS_AT_ONCE = 2_000
REASON_LIMIT = 5_000
SEEN_LIMIT = 1_000
# Repeats of one item by one person.
REPEATS_LIMIT = 200


class Seen:
    """Labels, criteria and the range of scores in a file: a new task is made to fit them."""

    def __init__(self) -> None:
        # In the order of their first lines.
        self.labels: dict[str, None] = {}
        self.criteria: dict[str, None] = {}
        self.places = 1
        self.low, self.high = 0.0, 0.0
        # {question of the file's own: values}, and those about each answer.
        self.values: dict[str, dict[str, None]] = {}
        self.of_answers: set[str] = set()
        # Of each question ("": the labels) all of whose values are numbers; None of the others.
        self.ranges: dict[str, Range | None] = {}

    def add(self, vote: Vote) -> None:
        if vote.label:
            self.widen("", vote.label)
            if len(self.labels) < SEEN_LIMIT:
                self.labels.setdefault(vote.label)
        named = set()
        for name, score in vote.scores.items():
            place, criterion = name.split("/", 1)
            values = self.values.setdefault(criterion, {})
            if len(values) < SEEN_LIMIT:
                values |= dict.fromkeys(map(str, score if isinstance(score, list) else [score]))
            if place != "0":
                self.of_answers.add(criterion)
            self.widen(criterion, score)
            if isinstance(score, str | list):
                continue
            named.add(place)
            self.places = max(self.places, int(place) if place.isdigit() else len(named))
            self.criteria.setdefault(criterion)
            self.low, self.high = min(self.low, score), max(self.high, score)

    def widen(self, name: str, value: Any) -> None:
        """Let the range of a question hold ``value``; it has none where that is no number."""
        before = self.ranges.get(name, Range())
        self.ranges[name] = before and before.with_number(value)


def file_of(mapping: Mapping, size: int, seen: Seen) -> ImportedFile:
    """What was seen of a file whose items have ``size`` answers."""
    labels = list(seen.labels)
    if size > 1 and "" not in mapping.classes:  # of lines that refer to items, as they stand there
        labels = [shape.choice_of(label, [], []) or label for label in labels]
    return ImportedFile(
        columns=frozenset(mapping.columns),
        size=size,
        labels=tuple(dict.fromkeys(labels)),
        criteria=tuple(seen.criteria),
        rated=seen.places,
        low=seen.low,
        high=seen.high,
        label_name=mapping.columns.get("label", ("score",))[0],
        values={name: tuple(words) for name, words in seen.values.items()}
        if mapping.answer_columns
        else {},
        of_answers=frozenset(seen.of_answers),
        ranges=seen.ranges,
        classes=mapping.classes,
        level=mapping.level,
    )


def task_for(mapping: Mapping, size: int, seen: Seen) -> tuple[str, dict] | None:
    """Kind and settings of a task for items of ``size`` answers; None where none fits."""
    file = file_of(mapping, size, seen)
    for code, kind in KINDS.items():
        if file.values and kind.shape != "questions":
            continue
        config = kind.files.config(file)
        if config is not None:
            return code, config
    return None


def unordered(mapping: Mapping, config: dict) -> list[str]:
    """The questions whose classes are numbers without an order, though nothing says so."""
    if mapping.level == "nominal":
        return []
    return [
        asked["name"]
        for asked in config.get("questions", ())
        if asked["type"] == "label" and not asked.get("ordinal")
        and not mapping.classes.get(asked["name"] if mapping.answer_columns else "")
        and all(number_of(each["name"]) is not None for each in asked["classes"])
    ]  # fmt: skip


def staged(line: int, row: Row, vote: Vote) -> list:
    """A row of ``import_vote``, whose columns are those of VoteRow."""
    columns = [vote.worker, vote.label, Jsonb(vote.scores), vote.reason]
    names = array_of(answer.id for answer in row.answers)
    return [line, row.item, names, *columns, vote.submitted_at, vote.seconds]


def array_of(texts: Iterable[str]) -> str:
    """PostgreSQL's text of an array: several times as fast as the driver's."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join([f'"{text}"' for text in escaped]) + "}"


class Votes:
    """The votes of ``import_vote``, in the order of the items that they are on.

    ``faults`` takes those that do not fit. ``signed``: scores of pairs are below zero
    for one side and above it for the other. ``repeats``: a person's further judgments of an item
    are stored as repeats; else they are faults. ``beyond`` is that of ``Storing``.
    """

    def __init__(
        self,
        study: Study,
        faults: Faults,
        *,
        signed: bool,
        repeats: bool,
        beyond: bool,
        provenance: int | None,
    ) -> None:
        self.faults, self.signed, self.repeats = faults, signed, repeats
        self.storing = Storing(study, faults.add, beyond=beyond, provenance=provenance)
        self.scores = 0

    def counts(self) -> dict[str, int]:
        """How many votes, scores and workers of the file the study has, on how many items."""
        counts = self.storing.counts()
        counts["judged"] = counts.pop("items")
        return counts | {"scores": self.scores}

    def store(self, names: list[str], *, write: bool = True) -> None:
        """Store the votes on these items; without ``write`` only find what is faulty, and count."""
        # Of more judgments than are wanted the first ones are stored.
        rows = sorted(self.judgments(names), key=lambda row: row.place)
        stored = self.storing.store(rows, write=write)
        self.scores += sum(len(row.words[1]) for row in stored)

    def judgments(self, names: list[str]) -> Iterator[Imported]:
        """What each worker says of each of these items: of one row, or of several joined."""
        columns = ", ".join(VoteRow._fields)
        with connection.cursor() as cursor:
            cursor.execute(
                f"""SELECT {columns} FROM import_vote WHERE item = ANY(%s)
                    ORDER BY item, worker, line""",  # noqa: S608 - our own columns
                [names],
            )
            stored = [VoteRow._make(row) for row in cursor.fetchall()]
        rows = [row._replace(scores=json.loads(row.scores)) for row in stored]
        for _pair, group in groupby(rows, key=lambda row: (row.item, row.worker)):
            for repeat, judgment in enumerate(self.joined(list(group))):
                yield self.imported(judgment, repeat)

    def joined(self, rows: list["VoteRow"]) -> list[list["VoteRow"]]:
        """The rows of each judgment of one worker on one item, the first one first."""
        judgments: list[list[VoteRow]] = []
        for row in rows:
            if judgments and row.adds_to(judgments[-1], again=self.repeats):
                judgments[-1].append(row)
            elif judgments and (not self.repeats or len(judgments) > REPEATS_LIMIT):
                words = _("%s has given another vote on this item before") % row.worker
                self.faults.add(row.line, words)
                self.faults.repeated = not self.repeats
            else:
                judgments.append([row])
        return judgments

    def imported(self, rows: list["VoteRow"], repeat: int) -> Imported:
        first = rows[0]
        scores: dict = {}
        for row in rows:
            scores |= row.scores
        words = (first.label, scores)
        reasons = dict.fromkeys(row.reason for row in rows if row.reason)
        return Imported(
            first.line,
            first.item,
            first.worker,
            partial(_body, *words, self.signed),
            list(words),
            answers=tuple(first.answers),
            reason="\n".join(reasons)[:REASON_LIMIT],
            submitted_at=max((row.submitted_at for row in rows if row.submitted_at), default=None),
            seconds=max((row.seconds for row in rows if row.seconds is not None), default=None),
            repeat=repeat,
        )


class VoteRow(NamedTuple):
    """A row of ``import_vote``: what one line says of an item for one worker."""

    line: int
    item: str
    answers: list[str]
    worker: str
    label: str
    scores: Any
    reason: str
    submitted_at: datetime | None
    seconds: float | None

    def adds_to(self, rows: "list[VoteRow]", *, again: bool) -> bool:
        """Whether it is part of the judgment of ``rows``: scores that they lack, or (unless
        repeats are kept, ``again``) what they say already.
        """
        if self.label != rows[0].label:
            return False
        given = {key: value for row in rows for key, value in row.scores.items()}
        if again:
            return bool(self.scores) and self.scores.keys().isdisjoint(given)
        return all(given.get(key, value) == value for key, value in self.scores.items())


def items_of_votes(after: str = "") -> Iterator[list[str]]:
    """Ids of the items that votes name, some at a time, of those after the item ``after``."""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT item FROM import_vote WHERE item > %s ORDER BY item LIMIT %s",
                [after, ITEMS_AT_ONCE],
            )
            names = [row[0] for row in cursor.fetchall()]
        if not names:
            return
        yield names
        after = names[-1]


def _body(label: str, scores: dict, signed: bool, target: Target) -> dict:
    """What a judgment says, in the words of the API's body of its kind."""
    return target.kind.imported_body(
        ImportedJudgment(
            label=label,
            config=target.config,
            answers=[target.options[number - 1].candidate for number in target.shown],
            choice=lambda label: _choice(label, target),
            scores=scores,
            signed=signed,
            gold=target.gold,
        )
    )


def _choice(label: str, target: Target) -> str:
    rows = [target.names[number - 1] for number in target.shown]
    choice = shape.choice_of(label, [row[0] for row in rows], [row[1] for row in rows])
    if choice is None:
        raise DomainError(_("the item has no answer “%s”") % label[:80])
    if choice.isdigit():
        return target.options[target.shown[int(choice) - 1] - 1].candidate
    asked = (target.config, *target.config.get("questions", ()))
    if not any(question.get(choice) for question in asked):
        raise DomainError(_("the item's task allows no “%s”") % choice)
    return choice
