"""The one reader of stored votes: answers to one question of a task, by column.

Agreement, tiers, raters, figures, evaluation and releases read votes here and nowhere else.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from django.db.models import QuerySet, TextField, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast, Coalesce, NullIf

from annotation.accounts.models import User
from annotation.core import copied
from annotation.core.arrow import pa
from annotation.core.sql import among
from annotation.judging.kinds import kind_of
from annotation.judging.models import Answer, ItemOption, Judgment
from annotation.questions.base import Measure, Question
from annotation.studies.models import Study, TaskDefinition
from annotation.votes import counting
from annotation.votes.table import Votes, VotesError, to_numpy

_NUMBERS = ("judgment", "item", "option", "rater", "at")


@dataclass(frozen=True)
class QuestionVotes:
    """Answers to one question, a row each, by item, option, time and number of the judgment.

    Arrays (votes,): ``judgment`` and ``rater`` are ids, ``item`` is the place in the study,
    ``option`` the number of the answer that it is about (0: the item), ``at`` microseconds since
    1970, ``seconds`` NaN where unknown; ``label`` is a code of ``labels``, ``shown`` one of
    ``orders``, canonical numbers in the order shown.
    """

    judgment: np.ndarray
    item: np.ndarray
    option: np.ndarray
    rater: np.ndarray
    at: np.ndarray
    seconds: np.ndarray
    label: np.ndarray
    labels: list[str]
    shown: np.ndarray
    orders: list[list[int]]

    def __len__(self) -> int:
        return len(self.judgment)

    def take(self, rows: np.ndarray) -> "QuestionVotes":
        """The votes of these places or this mask."""
        columns = (*_NUMBERS, "seconds", "label", "shown")
        return replace(self, **{name: getattr(self, name)[rows] for name in columns})

    @cached_property
    def units(self) -> tuple[np.ndarray, np.ndarray]:
        """(item, option) of each unit that is judged, in order, and the unit of each vote."""
        begins = np.ones(len(self), dtype=bool)
        begins[1:] = (self.item[1:] != self.item[:-1]) | (self.option[1:] != self.option[:-1])
        pairs = np.stack([self.item, self.option], axis=1)[begins]
        return pairs, np.cumsum(begins) - 1

    def coded(self, labels: Collection[str]) -> np.ndarray:
        """The place of each vote's label among ``labels``; -1 where it is none of them."""
        place = {label: code for code, label in enumerate(labels)}
        codes = np.array([place.get(label, -1) for label in self.labels], dtype=np.int64)
        return codes[self.label]

    def chosen(self, numbers: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Place of the answer that each vote chose, how many there were, and which came first.

        ``numbers`` are the answers that each of ``labels`` stands for, 0 for none. Places count
        from 1; 0 where no answer was chosen or the order is unknown.
        """
        known = np.array([len(order) for order in self.orders], dtype=np.int64)
        first = np.array([order[0] if order else 0 for order in self.orders], dtype=np.int64)
        place = np.array(
            [
                [order.index(number) + 1 if number in order else 0 for number in numbers]
                for order in self.orders
            ],
            dtype=np.int64,
        ).reshape(len(self.orders), len(numbers))
        at = place[self.shown, self.label]
        return at, np.where(at > 0, known[self.shown], 0), first[self.shown]


def read(
    definition: TaskDefinition,
    measure: Measure,
    *,
    last: int | None = None,
    withdrawn: list[int] | None = None,
    proposed: bool = True,
) -> QuestionVotes:
    """The votes of a task on one measure, of all versions that ask the same (``versions``).

    Of items up to the place ``last``. ``withdrawn`` people are left out: by default those who took
    their consent back. Without ``proposed`` judgments are, too, that began from a proposal.
    """
    judgments = counting.votes_of(definition, last, withdrawn)
    if not proposed:
        judgments = judgments.filter(proposal__isnull=True)
    return read_judgments(judgments, measure)


def read_judgments(judgments: QuerySet[Judgment], measure: Measure | None) -> QuestionVotes:
    """The answers to one measure of these ``judgments``; without one a row each, of one label."""
    label: Combinable = Value("-", TextField())
    option: Combinable = Value(0)
    if measure:
        judgments = judgments.filter(answers__question=measure.question)
        label = Cast("answers__chips", TextField()) if measure.of_class else answer_text()
        option = Coalesce("answers__option", 0)
    rows = judgments.annotate(
        vote_label=label,
        vote_option=option,
        vote_at=copied.instant("submitted_at"),
        vote_seconds=Coalesce("seconds", -1.0),
        vote_shown=copied.text_column("shown"),
    )
    ids = ("pk", "slot__item__position", "vote_option", "annotator_id")
    made = ("vote_at", "vote_seconds", "vote_label", "vote_shown")
    typed = [(name, pa.int64()) for name in _NUMBERS]
    typed += [("seconds", pa.float64()), ("label", pa.string()), ("shown", pa.string())]
    table = copied.whole(rows.order_by().values_list(*ids, *made), pa.schema(typed))
    columns = {name: to_numpy(table[name].combine_chunks()) for name in (*_NUMBERS, "seconds")}
    order = np.lexsort([columns[name] for name in ("judgment", "at", "option", "item")])
    columns = {name: column[order] for name, column in columns.items()}
    columns["seconds"] = np.where(columns["seconds"] < 0, np.nan, columns["seconds"])
    labels, shown = (
        table[name].combine_chunks().dictionary_encode() for name in ("label", "shown")
    )
    texts, code = labels.dictionary.to_pylist(), to_numpy(labels.indices)[order]
    if measure and measure.of_class:
        ticked = [measure.of_class in json.loads(text) for text in texts]
        texts, code = ["yes", "no"], np.where(np.array(ticked, dtype=bool), 0, 1)[code]
    return QuestionVotes(
        **columns,
        label=code,
        labels=texts,
        shown=to_numpy(shown.indices)[order],
        orders=[json.loads(text) for text in shown.dictionary.to_pylist()],
    )


def answer_text() -> Combinable:
    """The label, or the number or the ticked classes as text, of ``answers`` of judgments."""
    return Coalesce(
        NullIf("answers__label", Value("")),
        Cast("answers__value", TextField()),
        Cast("answers__chips", TextField()),
        output_field=TextField(),
    )


@dataclass(frozen=True)
class StudyVotes:
    """Votes of one task of a study on one measure, for the pure statistics.

    ``declared`` are all labels that could be given, ``level`` is their scale.
    """

    study: Study
    task: str
    declared: list[str]
    votes: Votes
    level: str = "nominal"


def study_votes(
    slug: str, task: str = "", *, tiered: bool = False, proposed: bool = True
) -> StudyVotes:
    """The votes of a study's task; by default of its pairs, or of the first task with votes.

    ``task`` may be ``NAME:QUESTION``; ``tiered`` reads the counted question of tasks with tiers
    alone, ``proposed`` also judgments that began from a proposal. Raises VotesError with a sentence
    where there is no such study, task or vote, and where the question of a task with several is
    missing or unknown.
    """
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise VotesError(f"There is no study “{slug}”.")
    name, _, question = (task, "", "") if tiered else task.partition(":")
    compared = [each for each in counting.newest(study, name) if counting.measures_of(each)]
    if tiered:
        compared = [each for each in compared if counting.has_tiers(each)]
    if not compared:
        votes = f"votes in a task “{task}”." if name else "votes yet."
        raise VotesError(f"Study “{slug}” has no {votes}")
    chosen = min(compared, key=_last_read)
    if tiered and (counted := counting.counted_measure(chosen)):
        question = counted.name
    return task_votes(chosen, question, proposed=proposed)


def _last_read(definition: TaskDefinition) -> tuple:
    """The larger, the later a task is read where none is named: choices of two answers come first.

    The audit of the easy tier is about pairs that were made from other votes.
    """
    tiered, chooses = counting.has_tiers(definition), kind_of(definition.kind).chooses
    audits = definition.name == counting.AUDIT_TASK
    return not tiered, audits, not chooses, definition.config.get("options", 0), definition.name


def task_votes(
    definition: TaskDefinition,
    name: str = "",
    *,
    columns: QuestionVotes | None = None,
    declared: list[str] | None = None,
    proposed: bool = True,
) -> StudyVotes:
    """The votes of a task on the measure ``name``, which may be left out where there is one.

    ``columns`` are they as read before, ``declared`` the labels that could be given. A label of an
    ordinal measure is its place among the classes; an item is named by its own id, one of its
    answers by that and its number; a worker as by ``counting.worker_name``. Raises VotesError.
    """
    measure = _measure(definition, name)
    if measure.level == "ranks":
        raise VotesError("Rankings have no single labels: their agreement is on the results page.")
    if columns is None:
        columns = read(definition, measure, proposed=proposed)
    if not len(columns):
        raise VotesError(
            f"Study “{definition.study.slug}” has no votes in a task “{definition.name}”."
        )
    labels = declared or counting.declared(definition, measure)
    if not counting.is_numbered(measure):
        place = {label: str(code) for code, label in enumerate(labels, 1)}
        columns = replace(columns, labels=[place.get(each, each) for each in columns.labels])
        labels = list(place.values())
    task = f"{definition.name}:{measure.name}" if measure.name else definition.name
    votes = _table(definition.study, columns)
    return StudyVotes(definition.study, task, labels, votes, measure.level)


def _measure(definition: TaskDefinition, name: str) -> Measure:
    measures = {each.name: each for each in counting.measures_of(definition)}
    if not name and len(measures) == 1:
        name = next(iter(measures))
    if name not in measures:
        names = ", ".join(f"{definition.name}:{each}" for each in measures)
        raise VotesError(f"Answers are compared one question at a time: name one of {names}.")
    return measures[name]


def _table(study: Study, columns: QuestionVotes) -> Votes:
    units, unit = columns.units
    items = study.items.filter(among("position", np.unique(units[:, 0]).tolist()))
    names = dict(cast(Any, items.values_list("position", "external_id")))
    unit_names = [
        f"{names[item]}/{option}" if option else names[item] for item, option in units.tolist()
    ]
    raters, rater = np.unique(columns.rater, return_inverse=True)
    workers = workers_of(raters)
    # The number makes names distinct, and the name sorts them.
    keys, worker = _in_order([f"{workers[user]}\t{user}" for user in raters.tolist()], rater)
    tasks, task = _in_order(unit_names, unit)
    labels, label = _in_order(columns.labels, columns.label)
    plain = [key.rpartition("\t")[0] for key in keys]
    return Votes(tasks, plain, labels, task, worker, label, submitted=columns.at)


def _in_order(names: list[str], code: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names that occur once each in alphabetical order, and the codes of the same rows."""
    place = {name: rank for rank, name in enumerate(sorted(names))}
    return list(place), np.array([place[name] for name in names], dtype=np.int32)[code]


def rankings_of(votes: QuestionVotes) -> list[tuple[int, np.ndarray]]:
    """(item's place in the study, places (raters, options)) of every ranked item, in order."""
    value = np.array([int(label) for label in votes.labels], dtype=np.int64)[votes.label]
    starts = np.flatnonzero(np.diff(votes.item)) + 1
    rankings = []
    for rows in np.split(np.arange(len(votes)), starts) if len(votes) else ():
        options, column = np.unique(votes.option[rows], return_inverse=True)
        judgments, row = np.unique(votes.judgment[rows], return_inverse=True)
        places = np.zeros((len(judgments), len(options)), dtype=np.int64)
        places[row, column] = value[rows]
        rankings.append((int(votes.item[rows[0]]), places))
    return rankings


def passages_of(
    definition: TaskDefinition, question: Question, last: int | None, withdrawn: list[int] | None
) -> tuple[int, list[tuple[int, str]]]:
    """In how many judgments of a task a question was asked, and (judgment, class) of each passage
    that was marked.
    """
    asked = counting.votes_of(definition, last, withdrawn)
    if condition := question.asked_when:
        met = Answer.objects.filter(question=condition.question, label__in=condition.labels)
        asked = asked.filter(pk__in=met.values("judgment"))
    rows = Answer.objects.filter(question=question.name, marks__isnull=False, judgment__in=asked)
    marks = [(pk, mark.get("class", "")) for pk, marked in rows.values_list("judgment", "marks")
             for mark in marked or ()]  # fmt: skip
    return asked.count(), marks


def workers_of(users: np.ndarray) -> dict[int, str]:
    """{id of an account: its name in tables}."""
    people = User.objects.filter(pk__in=users.tolist()).values_list("pk", "worker")
    return {user: counting.worker_name(user, worker) for user, worker in people}


def candidates_of(
    study: Study, positions: np.ndarray, *fields: str
) -> dict[tuple[int, int], tuple]:
    """{(place of an item, number of an answer): ``fields`` of its candidate}."""
    rows = ItemOption.objects.filter(
        among("item__position", np.unique(positions).tolist()), item__study=study
    )
    named = (f"candidate__{field}" for field in fields)
    return {
        (item, number): tuple(values)
        for item, number, *values in rows.order_by("item__position", "number")
        .values_list("item__position", "number", *named)
        .iterator(20_000)
    }
