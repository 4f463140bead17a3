"""Votes as columns of codes, and the reader of votes files (CSV or JSON lines)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from annotation.core import records
from annotation.core.arrow import pa, pa_csv, pc

REQUIRED = ("task", "worker", "label")
OPTIONAL = ("submitted_at",)
# A row of a CSV is shorter.
BLOCK = 1 << 24
LARGEST = 1e100
MAX_VALUES = 3000
NO_TIME = np.iinfo(np.int64).max

# Columns of a file by name, and the line of a row.
Columns = tuple[dict[str, Any], Callable[[int], int]]


class VotesError(ValueError):
    """The votes are wrong; the message is one sentence that names the place."""


@dataclass(frozen=True)
class Votes:
    """One row a vote.

    ``tasks``, ``workers`` and ``labels`` are the names, workers and labels in alphabetical order;
    ``task``, ``worker`` and ``label`` are whole-number codes into them. ``submitted`` is
    microseconds since 1970 in UTC (NO_TIME where unknown), None where no vote has a time.
    ``where(row)`` names a vote's place.
    """

    tasks: Sequence[str]
    workers: Sequence[str]
    labels: Sequence[str]
    task: np.ndarray
    worker: np.ndarray
    label: np.ndarray
    submitted: np.ndarray | None = None
    where: Callable[[int | None], str] = "vote {}".format

    def __len__(self) -> int:
        return len(self.task)


def votes_from_columns(
    columns: Mapping[str, Any], where: Callable[[int | None], str] = "vote {}".format
) -> Votes:
    """Checked votes from columns task, worker, label[, submitted_at], one entry a vote.

    ``columns`` is a dictionary of lists of text or Arrow columns of strings; times are ISO 8601
    (UTC where no zone is given), "" where unknown. Raises VotesError for no votes, an empty name,
    a time that cannot be read, a rater twice on one item.
    """
    if not len(columns["task"]):
        raise VotesError(f"{where(None)}: there are no votes")
    fields: dict[str, Any] = {}
    for name in REQUIRED:
        names, codes = _codes(_text(columns[name]))
        # In alphabetical order nothing comes before the empty text.
        if not names[0]:
            raise VotesError(f"{where(int(np.argmax(codes == 0)))}: the {name} is empty")
        fields |= {f"{name}s": names, name: codes}
    votes = Votes(**fields, where=where)
    _refuse_second_vote(votes)
    if "submitted_at" in columns:
        votes = replace(votes, submitted=_instants(_text(columns["submitted_at"]), where))
    return votes


def read_votes(path: Path | str, *, timed: bool = False) -> Votes:
    """Read a votes file; ``timed`` also reads submitted_at where the file has it.

    The first character distinguishes JSON lines from CSV. Raises VotesError with file and line for
    anything that is not a vote: no UTF-8, columns missing, a broken line, an empty name, a rater
    twice on one item.
    """
    path = Path(path)
    try:
        data = path.read_bytes().removeprefix(records.BOM)
    except OSError as error:
        raise VotesError(f"{path}: {(error.strerror or 'unreadable').lower()}") from error
    _refuse_no_text(data, path)
    wanted = (*REQUIRED, *OPTIONAL) if timed else REQUIRED
    read = _read_json_lines if data.lstrip()[:1] in (b"{", b"[") else _read_csv
    columns, line_of = read(data, path, wanted)

    def where(row: int | None) -> str:
        return f"{path}:{1 if row is None else line_of(row)}"

    return votes_from_columns(columns, where)


def _refuse_no_text(data: bytes, path: Path) -> None:
    if not data.strip():
        raise VotesError(f"{path}:1: the file is empty")
    place, words = data.find(b"\0"), "a byte is zero: the file is damaged, or not UTF-8 text"
    try:
        data.decode()
    except UnicodeDecodeError as error:
        place, words = error.start, "the bytes are not UTF-8 text"
    if place >= 0:
        line = data.count(b"\n", 0, place) + 1
        raise VotesError(f"{path}:{line}: {words}")


def _read_csv(data: bytes, path: Path, wanted: Sequence[str]) -> Columns:
    try:
        begun = csv.reader(io.StringIO(data[:BLOCK].decode(errors="ignore"), newline=""))
        header = [name.strip() for name in next(filter(None, begun))]
        records.columns((*REQUIRED, *OPTIONAL), REQUIRED)(header)
    except (ValueError, csv.Error) as error:
        raise VotesError(f"{path}:1: {error}") from error
    names = [name for name in wanted if name in header]
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            read_options=pa_csv.ReadOptions(
                column_names=header, skip_rows=begun.line_num, block_size=BLOCK
            ),
            parse_options=pa_csv.ParseOptions(newlines_in_values=b'"' in data),
            convert_options=pa_csv.ConvertOptions(
                include_columns=names, column_types=dict.fromkeys(names, pa.string())
            ),
        )
    except pa.ArrowInvalid as error:
        raise _fault(data, path, str(error).splitlines()[0]) from error
    if data.count(b'"') % 2:
        # The rest of the file was taken for one field.
        raise _fault(data, path, "a quote is never closed")
    # Only a quoted field can hold a line's end.
    for name in REQUIRED if b'"' in data else ():
        broken = pc.index(pc.match_substring_regex(table[name], r"[\r\n]"), True).as_py()
        if broken >= 0:
            raise VotesError(f"{path}:{_line(data, broken)}: the {name} goes over a line's end")
    return {name: table[name] for name in names}, lambda row: _line(data, row)


def _line(data: bytes, row: int) -> int:
    """The line on which a row of a CSV begins, after the header."""
    reader = csv.reader(io.StringIO(data.decode(), newline=""))
    begins, end = [], 0
    for cells in reader:
        if cells:  # blank rows are none
            begins.append(end + 1)
        end = reader.line_num
    return begins[row + 1]


def _fault(data: bytes, path: Path, words: str) -> VotesError:
    """What the first row that cannot be read is, with its line; else ``words``."""
    reason = "there are no votes"
    for line, row in records.csv_rows(io.BytesIO(data)):
        if isinstance(row, str):
            return VotesError(f"{path}:{line}: {row}")
        reason = words
    return VotesError(f"{path}:1: {reason}")


def _read_json_lines(data: bytes, path: Path, wanted: Sequence[str]) -> Columns:
    columns: dict[str, list[str]] = {name: [] for name in wanted}
    lines = []
    for number, record in records.json_lines(io.BytesIO(data)):
        if isinstance(record, str):
            raise VotesError(f"{path}:{number}: {record}")
        for name in wanted:
            columns[name].append(_json_text(record.get(name), name, f"{path}:{number}"))
        lines.append(number)
    filled = {n: column for n, column in columns.items() if n in REQUIRED or any(column)}
    return filled, lambda row: lines[row]


def _json_text(value: object, name: str, place: str) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        raise VotesError(f"{place}: {name} must be text or a number")
    return value if isinstance(value, str) else json.dumps(value)


def _text(column: pa.ChunkedArray | Sequence[str]) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    return pa.array(column, pa.string())


def _codes(column: pa.Array) -> tuple[list[str], np.ndarray]:
    """Names in alphabetical order, blanks around them cut, and each row's int32 code."""
    coded = column.dictionary_encode()
    # Each text is trimmed once; two of them may be one name then.
    names = pc.utf8_trim_whitespace(coded.dictionary).dictionary_encode()
    order = to_numpy(pc.array_sort_indices(names.dictionary)).astype(np.int64)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    codes = rank[to_numpy(names.indices)][to_numpy(coded.indices)]
    texts = names.dictionary.to_pylist()
    return [texts[place] for place in order.tolist()], codes


def _refuse_second_vote(votes: Votes) -> None:
    """Refuse the first vote that repeats one of the same worker and task."""
    key = votes.task.astype(np.int64) * len(votes.workers) + votes.worker
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(np.diff(key[order]) == 0)
    if same.size:
        at = same[np.argmin(order[same + 1])]
        first, second = int(order[at]), int(order[at + 1])
        raise VotesError(
            f"{votes.where(second)}: {votes.workers[votes.worker[second]]} has voted on "
            f"{votes.tasks[votes.task[second]]} before ({votes.where(first)})"
        )


def _instants(column: pa.Array, where: Callable[[int | None], str]) -> np.ndarray:
    out = np.full(len(column), NO_TIME, dtype=np.int64)
    for row, text in enumerate(column.to_pylist()):
        if text:
            try:
                moment = datetime.fromisoformat(text.strip())
            except ValueError as error:
                sentence = f"{where(row)}: submitted_at is not a time in ISO 8601"
                raise VotesError(sentence) from error
            moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
            out[row] = round(moment.timestamp() * 1_000_000)
    return out


def number(text: str) -> float:
    """The finite number a text stands for, or NaN where it stands for none."""
    try:
        value = float(text)
    except ValueError:
        return math.nan
    # Squares of larger numbers, and sums of them, would leave what floating point holds.
    return value if abs(value) <= LARGEST and "_" not in text else math.nan


def categories(
    votes: Votes, level: str = "nominal", declared: Sequence[str] | None = None
) -> tuple[np.ndarray, list]:
    """The votes' category of each row, and the categories: text, or rising numbers from ordinal on.

    ``declared`` names all possible labels; without it they are those seen. Raises VotesError with
    the line for a label that was not declared, or is not a number where one must be.
    """
    keys: list
    labels: list
    if level == "nominal":
        labels = list(declared) if declared else list(votes.labels)
        keys = list(votes.labels)
        fault = "is not one of the declared labels"
    else:
        keys = [number(label) for label in votes.labels]
        _refuse(votes, [math.isnan(key) for key in keys], f"is not a number ({level} level)")
        unreadable = next((x for x in declared or () if math.isnan(number(x))), None)
        if unreadable is not None:
            raise VotesError(f"the declared label {unreadable!r} is not a number ({level} level)")
        labels = sorted({number(label) for label in declared or votes.labels})
        fault = "is not one of the declared labels"
        if len(labels) > MAX_VALUES:
            raise VotesError(
                f"{votes.where(0)}: {len(labels):,} different numbers are too many ({MAX_VALUES:,} "
                "at most): round them"
            )
    place = {key: code for code, key in enumerate(labels)}
    _refuse(votes, [key not in place for key in keys], fault)
    remap = np.array([place[key] for key in keys], dtype=np.int32)
    if level != "nominal":
        labels = [int(x) if x % 1 == 0 and abs(x) < 2**53 else x for x in labels]
    same = np.array_equal(remap, np.arange(len(labels)))
    return votes.label if same else remap[votes.label], labels


def _refuse(votes: Votes, wrong: Sequence[bool], fault: str) -> None:
    if any(wrong):
        row = int(np.argmax(np.asarray(wrong)[votes.label]))
        label = votes.labels[votes.label[row]]
        raise VotesError(f"{votes.where(row)}: the label {label[:80]!r} {fault}")


def to_numpy(column: pa.Array) -> np.ndarray:
    """Values of an Arrow column of numbers without gaps; Arrow's own way would import pandas."""
    kind = np.dtype(str(column.type))
    values = np.frombuffer(column.buffers()[1], dtype=kind, count=column.offset + len(column))
    return values[column.offset :]
