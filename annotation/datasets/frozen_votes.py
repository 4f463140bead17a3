"""Reads the votes of a release by column."""

import io
import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from django.db.models import (
    Case,
    Expression,
    F,
    FilteredRelation,
    Func,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, NullIf

from annotation.core.copied import copied, json_column, text_column
from annotation.datasets import records
from annotation.datasets.columns import (
    Columns,
    json_lists,
    json_text,
    json_texts,
    mapped_by_place,
)
from annotation.datasets.models import Release
from annotation.datasets.options import Options
from annotation.judging.kinds import Kind, config_of_task, kind_of
from annotation.judging.models import Answer
from annotation.questions.base import Measure
from annotation.questions.choice import STRENGTHS
from annotation.studies.models import TaskDefinition
from annotation.votes.counting import are_scores, is_one_label, judgments_as_of
from annotation.votes.stored import read_judgments

# Numbers of a vote as they are read.
_NUMBERS = {
    "position": "slot__position",
    "batch": "slot__item__batch_id",
    "annotator": "annotator_id",
    "judgment": "pk",
}
# What every kind has, as JSON.
_TEXTS = {
    "shown": text_column("shown"),
    "reason": json_column("reason"),
    "flags": text_column("flags"),
    "chips": text_column("chips"),
    "marks": text_column("marks"),
    "seconds": text_column("seconds"),
    # The day in UTC; exact times would join a person's votes across releases. In a pattern of
    # to_char, what is quoted stands for itself: a quote needs a backslash.
    "submitted_at": Case(
        When(dated=False, then=Value('""')),
        default=Func("submitted_at", Value(r"\"YYYY-MM-DD\""), function="to_char"),
        output_field=TextField(),
    ),
    "revision": text_column("revision"),
    "imported": text_column("imported"),
}
_READ = ("label", "detail", *_TEXTS)
_SCHEMA = pa.schema([(n, pa.int64()) for n in _NUMBERS] + [(n, pa.string()) for n in _READ])


@dataclass(frozen=True, eq=False)
class Task:
    """A version of a task; ``labels`` are all that an answer may have, () where it has parts."""

    name: str
    version: int
    kind: Kind
    config: dict
    measures: tuple[Measure, ...]
    labels: tuple[str, ...]
    criteria: tuple[str, ...]
    stop_below: str | None

    @classmethod
    def of(cls, task: TaskDefinition, stop_below: dict) -> "Task":
        """The task of the definition ``task``."""
        kind, config = kind_of(task.kind), config_of_task(task)
        measures = tuple(kind.measures(config))
        scores = measures if are_scores(measures) and "criteria" in config else ()
        return cls(
            task.name,
            task.version,
            kind,
            config,
            measures,
            labels=measures[0].labels if is_one_label(measures) else (),
            criteria=tuple(each.name for each in scores),
            stop_below=stop_below.get(task.name),
        )

    def without(self, labels: set[str]) -> "Task":
        """The same without these of its ``labels``."""
        return replace(self, labels=tuple(name for name in self.labels if name not in labels))

    @cached_property
    def offered(self) -> tuple[int | str, ...]:
        """``labels``, those that stand for an answer as its number."""
        numbers: Any = {number: number for number in range(1, len(self.labels) + 1)}
        return tuple(
            cast(Any, self.kind.label_json(label, numbers, self.config)) for label in self.labels
        )

    def as_json(self) -> dict:
        """Its name, version, kind and settings, by which an import makes it again."""
        about = {"name": self.name, "version": self.version, "kind": self.kind.code}
        return about | {"config": self.config}


class _Reader(io.RawIOBase):
    """An open file from its beginning on; several of them read one file at different places."""

    def __init__(self, file: int) -> None:
        self._file, self._at = file, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._file, len(buffer), self._at)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class _Spool:
    """Votes of one kind in a temporary file, in the order of their items: read as often as needed.

    The database makes and sorts them once.
    """

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        # Without a name: nothing stays on the disk where the process is killed.
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the spool
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.ipc.new_stream(self._file, _SCHEMA, options=options) as writer:
            for table in tables:
                writer.write_table(table)
        self._file.flush()
        self.rewind()

    def rewind(self) -> None:
        """Let ``until`` begin anew."""
        self._batches, self._rest = self._read(), None

    def _read(self, names: Iterable[str] = _SCHEMA.names) -> Iterator[pa.RecordBatch]:
        fields = [_SCHEMA.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
        source = pa.PythonFile(_Reader(self._file.fileno()), "r")
        yield from pa.ipc.open_stream(source, options=options)

    def parts(self, *names: str) -> Iterator[pa.RecordBatch]:
        """Those columns of all votes, some votes at a time."""
        return self._read(names)

    def until(self, last: int) -> dict[str, pa.Array]:
        """The next votes, up to those on the item at the position ``last``."""
        taken = []
        while (batch := self._rest or next(self._batches, None)) is not None:
            end = int(np.searchsorted(batch["position"].to_numpy(), last, side="right"))
            taken.append(batch.slice(0, end))
            self._rest = batch.slice(end) if end < len(batch) else None
            if self._rest:
                break
        table = pa.Table.from_batches(taken, _SCHEMA)
        return {name: table[name].combine_chunks() for name in table.column_names}


class FrozenVotes:
    """The judgments of ``release`` as they stood when it was frozen.

    ``tasks`` is {batch's id: its task}; ``alive`` is called on the way.
    """

    def __init__(self, release: Release, tasks: dict[int, Task], alive: Callable[[], None]) -> None:
        self.release, self.tasks, self.alive = release, tasks, alive
        self.withdrawn = frozenset(release.frozen["withdrawn"])

    @property
    def left(self) -> int:
        """How many people with votes withdrew their consent: they are not in the release."""
        return len(self._voters & self.withdrawn)

    @cached_property
    def workers(self) -> dict:
        """{annotator's id: pseudonym} of everybody with a vote in the release."""
        return records.workers(self.release.salt, self._voters - self.withdrawn)

    def rewind(self) -> None:
        """Let ``of`` begin with the first item again."""
        for spool in self._spools.values():
            spool.rewind()

    def labels(self, positions: np.ndarray) -> Iterator[records.LabelVotes]:
        """Every vote whose answer is one label, a version of a task at a time.

        ``positions`` are those of the items that count.
        """
        for task, batches in self._batches().items():
            if task.labels:
                votes = read_judgments(self._judgments(batches), task.measures[0])
                label = votes.coded(task.labels)
                # A label that the task does not offer is refused where the item is read.
                counts = np.isin(votes.item, positions) & (label >= 0)
                counts &= ~np.isin(votes.rater, list(self.withdrawn))
                yield records.LabelVotes(
                    (task.name, task.version),
                    task.labels,
                    votes.item[counts].astype(np.int32),
                    np.searchsorted(self._ids, votes.rater[counts]).astype(np.int32),
                    label[counts].astype(np.int32),
                )

    def of(self, positions: np.ndarray, options: Options) -> tuple[records.VoteColumns, np.ndarray]:
        """The votes on the next items, and how many of anybody each has.

        ``positions`` are the items', ``options`` theirs.
        """
        table = pa.concat_tables([self._placed(kind, positions, options) for kind in self._spools])
        if len(self._spools) > 1:
            table = table.take(np.argsort(table["place"].to_numpy(), kind="stable"))
        collected = np.bincount(table["place"].to_numpy(), minlength=len(positions))
        if table["worker"].null_count:
            table = table.filter(pc.is_valid(table["worker"]))
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        place, code = (columns.pop(name).to_numpy() for name in ("place", "code"))
        return records.VoteColumns(place, code, Columns(columns)), collected

    def _placed(self, kind: Kind, positions: np.ndarray, options: Options) -> pa.Table:
        """The votes of one kind on the items; the worker is null where they withdrew."""
        read = self._spools[kind].until(positions[-1])
        place, read = _places(read, positions)
        who = np.searchsorted(self._ids, read.pop("annotator").to_numpy())
        judgments, batch, label = (read.pop(name) for name in ("judgment", "batch", "label"))
        if self._labelled(kind):
            code = self._codes(kind, batch.to_numpy(), label)
            # A label that the task does not offer stays as it is, and is refused with its item.
            answer = label = pc.coalesce(options.label(place, code), json_texts(label))
            read["parts"] = pa.array(["{}"], pa.string()).take(pa.array(np.zeros_like(place)))
        else:
            code = np.full(len(place), -1)
            configs = [self.tasks[each].config for each in batch.to_pylist()]
            parts = zip(judgments.to_pylist(), place.tolist(), configs, strict=True)
            answer, read["detail"], read["parts"] = _of_parts(kind, list(parts), options)
        read["shown"] = _shown(read["shown"], place, options)
        read["marks"] = mapped_by_place(
            read["marks"], place, lambda text, item: _marked(text, item, options)
        )
        worker = self._names.take(pa.array(who))
        first = {"place": place, "code": code, "label": label, "worker": worker, "answer": answer}
        return pa.table(first | read)

    def _codes(self, kind: Kind, batch: np.ndarray, label: pa.Array) -> np.ndarray:
        """The place of each label among those of its batch's task, -1 where it is none of them."""
        code = np.full(len(batch), -1)
        for task, batches in self._batches(kind).items():
            rows = np.isin(batch, batches)
            code[rows] = _offered(task, label)[rows]
        return code

    @cached_property
    def _spools(self) -> dict[Kind, _Spool]:
        kinds = dict.fromkeys(task.kind for task in self.tasks.values())
        return {kind: _Spool(self._tables(kind)) for kind in kinds}

    def _tables(self, kind: Kind) -> Iterator[pa.Table]:
        label = self._labelled(kind)
        texts = _TEXTS | {
            "label": F("label") if label else Value(None, TextField()),
            "detail": json_column(_detail(kind) if label else Value("")),
        }
        judgments = self._judgments(list(chain(*self._batches(kind).values())))
        rows = (
            (_with_label(judgments, kind) if label else judgments)
            .order_by("slot__position", "submitted_at", "pk")
            .annotate(**{f"{name}_text": texts[name] for name in _READ})
            .values_list(*_NUMBERS.values(), *(f"{name}_text" for name in _READ))
        )
        for table in copied(rows, _SCHEMA):
            self.alive()
            yield table

    def _labelled(self, kind: Kind) -> bool:
        """Whether an answer of this kind is one label."""
        return any(task.labels for task in self.tasks.values() if task.kind is kind)

    def _judgments(self, batches: Collection[int]) -> QuerySet:
        frozen = self.release.frozen
        counted = judgments_as_of(self.release.study_id, frozen["judgment"], frozen["void"])
        return counted.filter(slot__item__batch__in=batches)

    def _batches(self, kind: Kind | None = None) -> dict[Task, list[int]]:
        """{task: its batches}, of one kind."""
        batches: dict[Task, list[int]] = {}
        for batch, task in self.tasks.items():
            if kind in (None, task.kind):
                batches.setdefault(task, []).append(batch)
        return batches

    @cached_property
    def _voters(self) -> set[int]:
        spools = self._spools.values()
        return {
            person
            for spool in spools
            for part in spool.parts("annotator")
            for person in pc.unique(part["annotator"]).to_pylist()
        }

    @cached_property
    def _ids(self) -> np.ndarray:
        return np.array(sorted(self._voters), dtype=np.int64)

    @cached_property
    def _names(self) -> pa.Array:
        """The pseudonym of each of ``_ids`` as JSON."""
        return json_texts(pa.array(map(self.workers.get, self._ids.tolist()), pa.string()))


def _places(read: dict[str, pa.Array], positions: np.ndarray) -> tuple[np.ndarray, dict]:
    """The places of the votes' items among ``positions``, and the other columns of those votes."""
    at = read.pop("position").to_numpy()
    place = np.searchsorted(positions, at)
    there = positions[place] == at
    if there.all():
        return place, read
    chosen = pa.array(there)
    return place[there], {name: column.filter(chosen) for name, column in read.items()}


def _offered(task: Task, label: pa.Array) -> np.ndarray:
    """The place of each label among those of the task, -1 where it is none of them."""
    return pc.fill_null(pc.index_in(label, pa.array(task.labels, pa.string())), -1).to_numpy()


def _of_parts(
    kind: Kind, rows: list[tuple[int, int, dict]], options: Options
) -> tuple[pa.Array, ...]:
    """Answers of several parts, their details and labels, as JSON.

    ``rows`` are (judgment, item's place, config).
    """
    answers = kind.answers([judgment for judgment, _item, _config in rows])
    ids = {item: options.ids(item) for item in {item for _judgment, item, _config in rows}}
    made = [
        json_text(kind.answer_json(answers[pk], ids[item], config)) for pk, item, config in rows
    ]
    details = [json_text(answers[pk].detail) for pk, _item, _config in rows]
    labels = [json_text(answers[pk].label) for pk, _item, _config in rows]
    return tuple(pa.array(texts, pa.string()) for texts in (made, details, labels))


def _shown(texts: pa.Array, place: np.ndarray, options: Options) -> pa.Array:
    """Lists of answers' numbers (JSON) as lists of their ids."""
    listed = pc.if_else(pc.equal(texts, "[]"), None, pc.utf8_trim(texts, "[]"))
    lists = pc.split_pattern(listed, ", ")
    ends = lists.offsets.to_numpy()
    number = lists.values.cast(pa.int64()).to_numpy()
    at = options.ends[np.repeat(place, np.diff(ends))] + number - 1
    return json_lists(options.texts.take(pa.array(at)), ends)


def _marked(text: str, item: int, options: Options) -> str:
    if text == "[]":
        return text
    ids = options.ids(item)
    return json_text([mark | {"option": ids[mark["option"]]} for mark in json.loads(text)])


def _with_label(judgments: QuerySet, kind: Kind) -> QuerySet:
    """``judgments`` with the ``label`` of their primary question, in ``main_answer``, as text."""
    about_item = {"answers__option": None, "answers__part": None}
    primary = Q(answers__question=kind.primary, **about_item)
    # Of an answer on a scale the number is the label, beside a label it is a degree.
    label = Coalesce(
        NullIf("main_answer__label", Value("")),
        Cast("main_answer__value", TextField()),
        output_field=TextField(),
    )
    main = FilteredRelation("answers", condition=primary)
    return judgments.annotate(main_answer=main).annotate(label=label)


def _detail(kind: Kind) -> Expression:
    """What adds to the label: how much better, or why not (``Answer.detail``)."""
    if kind.detail_question:
        about = {"judgment": OuterRef("pk"), "question": kind.detail_question}
        return Coalesce(Subquery(Answer.objects.filter(**about).values("label")), Value(""))
    degrees = [
        When(main_answer__value=degree, then=Value(name))
        for degree, name in enumerate(STRENGTHS, start=1)
        if kind.chooses
    ]
    return Case(*degrees, default=Value("")) if degrees else Value("", TextField())
