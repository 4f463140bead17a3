"""Stores the votes of an imported file: the rows of one worker on one item are one judgment."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import groupby

from django.db import connection, transaction
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError
from annotation.imports import shape
from annotation.imports.mapping import Mapping
from annotation.imports.shape import Vote
from annotation.judging.imports import judgments
from annotation.judging.imports.judgments import Imported, Storing, Target
from annotation.judging.kinds import KINDS
from annotation.judging.kinds.imported import ImportedFile, ImportedJudgment
from annotation.studies.models import Study

ITEMS_AT_ONCE = 2_000
REASON_LIMIT = 5_000
SEEN_LIMIT = 1_000


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

    def add(self, vote: Vote) -> None:
        if vote.label and len(self.labels) < SEEN_LIMIT:
            self.labels.setdefault(vote.label)
        named = set()
        for name, score in vote.scores.items():
            place, criterion = name.split("/", 1)
            values = self.values.setdefault(criterion, {})
            if len(values) < SEEN_LIMIT:
                values |= dict.fromkeys(map(str, score if isinstance(score, list) else [score]))
            if place != "0":
                self.of_answers.add(criterion)
            if isinstance(score, str | list):
                continue
            named.add(place)
            self.places = max(self.places, int(place) if place.isdigit() else len(named))
            self.criteria.setdefault(criterion)
            self.low, self.high = min(self.low, score), max(self.high, score)


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
        classes=mapping.classes,
        level=mapping.level,
    )


def task_for(mapping: Mapping, size: int, seen: Seen) -> tuple[str, dict] | None:
    """Kind and settings of a task for items of ``size`` answers; None where none fits."""
    file = file_of(mapping, size, seen)
    for code, kind in KINDS.items():
        if file.values and kind.shape != "questions":
            continue
        config = kind.imported_config(file)
        if config is not None:
            return code, config
    return None


def store(
    study: Study,
    fault: Callable[[int, str], None],
    check: Callable[[float], None],
    *,
    signed: bool = False,
    provenance: int | None = None,
) -> dict:
    """Store the votes of ``import_vote``; counts of votes, scores and workers.

    ``fault(line, reason)`` takes those that do not fit. ``signed``: scores of pairs are below zero
    for one side and above it for the other. ``check(share that is stored)`` may raise to end it.
    """
    votes = _Votes(study, fault, signed, provenance)
    with connection.cursor() as cursor:
        cursor.execute("CREATE INDEX ON import_vote (item)")
        cursor.execute("SELECT count(DISTINCT item) FROM import_vote")
        items = cursor.fetchone()[0]
    done = 0
    for names in _items_of_votes():
        check(done / items)
        votes.store(names)
        done += len(names)
    transaction.on_commit(judgments.analyze, robust=True)
    counts = votes.storing.counts()
    return {"votes": counts["votes"], "scores": votes.scores, "workers": counts["workers"]}


def _items_of_votes() -> Iterator[list[str]]:
    """Ids of the items that votes name, some at a time."""
    last = ""
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT DISTINCT item FROM import_vote WHERE item > %s ORDER BY item LIMIT %s",
                [last, ITEMS_AT_ONCE],
            )
            names = [row[0] for row in cursor.fetchall()]
        if not names:
            return
        yield names
        last = names[-1]


@dataclass(frozen=True)
class _Judgment:
    """All that one worker says of one item, of one row or several."""

    line: int
    item: str
    worker: str
    answers: tuple[str, ...]
    label: str
    scores: dict
    reason: str
    submitted_at: datetime | None
    seconds: float | None


class _Votes:
    def __init__(
        self,
        study: Study,
        fault: Callable[[int, str], None],
        signed: bool,
        provenance: int | None,
    ) -> None:
        self.fault, self.signed = fault, signed
        self.storing = Storing(study, fault, beyond=True, provenance=provenance)
        self.scores = 0

    def store(self, names: list[str]) -> None:
        """Store the votes on these items."""
        stored = self.storing.store([self.imported(row) for row in self.judgments(names)])
        self.scores += sum(len(row.words[1]) for row in stored)

    def imported(self, judgment: _Judgment) -> Imported:
        return Imported(
            judgment.line,
            judgment.item,
            judgment.worker,
            partial(_body, judgment, self.signed),
            [judgment.label, judgment.scores],
            answers=judgment.answers,
            reason=judgment.reason[:REASON_LIMIT],
            submitted_at=judgment.submitted_at,
            seconds=judgment.seconds,
        )

    def judgments(self, names: list[str]) -> Iterator[_Judgment]:
        with connection.cursor() as cursor:
            cursor.execute(
                """SELECT item, worker, line, answers, label, scores, reason, submitted_at, seconds
                   FROM import_vote WHERE item = ANY(%s) ORDER BY item, worker, line""",
                [names],
            )
            rows = cursor.fetchall()
        for (item, worker), group in groupby(rows, key=lambda row: row[:2]):
            yield from self.joined(item, worker, list(group))

    def joined(self, item: str, worker: str, rows: list[tuple]) -> Iterator[_Judgment]:
        """One judgment of the rows of one worker on one item; scores of several are joined."""
        scores: dict = {}
        label = rows[0][4]
        for row in rows:
            new = json.loads(row[5]) if isinstance(row[5], str) else row[5]
            if row[4] != label or any(
                scores.get(key, value) != value for key, value in new.items()
            ):
                self.fault(row[2], _("%s has given another vote on this item before") % worker)
                continue
            scores |= new
        times = [row[7] for row in rows if row[7]]
        seconds = [row[8] for row in rows if row[8] is not None]
        yield _Judgment(
            line=rows[0][2],
            item=item,
            worker=worker,
            answers=tuple(rows[0][3]),
            label=label,
            scores=scores,
            reason="\n".join(dict.fromkeys(row[6] for row in rows if row[6])),
            submitted_at=max(times, default=None),
            seconds=max(seconds, default=None),
        )


def _body(judgment: _Judgment, signed: bool, target: Target) -> dict:
    """What the judgment says, in the words of the API's body of its kind."""
    return target.kind.imported_body(
        ImportedJudgment(
            label=judgment.label,
            config=target.config,
            answers=[target.options[number - 1].candidate for number in target.shown],
            choice=lambda label: _choice(label, target),
            scores=judgment.scores,
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
