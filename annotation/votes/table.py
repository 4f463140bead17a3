"""Votes as columns of codes, and the reader of votes files (CSV or JSON lines)."""

import csv
import io
import itertools
import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

REQUIRED = ("task", "worker", "label")
OPTIONAL = ("submitted_at", "seconds")
SEEN_CELLS = 1 << 26
LONGEST_RUN = 32
LONGEST_LINE = 1 << 20
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
    microseconds since 1970 in UTC (NO_TIME where unknown), ``seconds`` the time spent (NaN where
    unknown); either is None where no vote has it. ``where(row)`` names a vote's place.
    """

    tasks: Sequence[str]
    workers: Sequence[str]
    labels: Sequence[str]
    task: np.ndarray
    worker: np.ndarray
    label: np.ndarray
    submitted: np.ndarray | None = None
    seconds: np.ndarray | None = None
    where: Callable[[int | None], str] = "vote {}".format

    def __len__(self) -> int:
        return len(self.task)


def votes_from_columns(
    columns: Mapping[str, Any], where: Callable[[int | None], str] = "vote {}".format
) -> Votes:
    """Checked votes from columns task, worker, label[, submitted_at, seconds], one entry a vote.

    ``columns`` is a dictionary of lists of text or Arrow columns of strings; times are ISO 8601
    (UTC where no zone is given) and seconds are numbers as text, "" where unknown. Raises
    VotesError for no votes, an empty name, a time or number that cannot be read, a rater twice
    on one item.
    """
    if not len(columns["task"]):
        raise VotesError(f"{where(None)}: there are no votes")
    with ThreadPoolExecutor(2) as pool:
        coding = {name: pool.submit(_codes, columns[name]) for name in REQUIRED}
        tasks, workers = (coding[name].result() for name in ("task", "worker"))
        second = pool.submit(_second_vote, *tasks, *workers)
    coded = {name: job.result() for name, job in coding.items()}
    for name, (names, codes) in coded.items():
        # In alphabetical order nothing comes before the empty text.
        if not names[0]:
            row = int(np.argmax(codes == 0))
            raise VotesError(f"{where(row)}: the {name} is empty")
    fields: dict[str, Any] = {f"{name}s": names for name, (names, _) in coded.items()}
    fields |= {name: codes for name, (_, codes) in coded.items()}
    votes = Votes(**fields, where=where)
    _refuse_second_vote(votes, second.result())
    if "submitted_at" in columns:
        votes = replace(votes, submitted=_instants(_text(columns["submitted_at"]), where))
    if "seconds" in columns:
        votes = replace(votes, seconds=_durations(_text(columns["seconds"]), where))
    return votes


def read_votes(path: Path | str, *, timed: bool = False) -> Votes:
    """Read a votes file; ``timed`` also reads submitted_at and seconds where the file has them.

    The first character distinguishes JSON lines from CSV. Raises VotesError with file and line for
    anything that is not a vote: no UTF-8, columns missing, a broken line, an empty name, a rater
    twice on one item.
    """
    path = Path(path)
    data = _bytes(path)
    begin = re.search(rb"\S", data.data)
    if begin is None:
        raise VotesError(f"{path}:1: the file is empty")
    wanted = (*REQUIRED, *OPTIONAL) if timed else REQUIRED
    is_json = begin[0] in b"{[" or path.suffix in {".jsonl", ".ndjson", ".json"}
    columns, line_of = (_read_json_lines if is_json else _read_csv)(data, path, wanted)

    def where(row: int | None) -> str:
        return f"{path}:{1 if row is None else line_of(row)}"

    return votes_from_columns(columns, where)


def _bytes(path: Path) -> np.ndarray:
    """The file's bytes as an array, without a byte order mark; VotesError where they are no text.

    An array over the mapped file: a million votes are searched through but never copied.
    """
    try:
        # What is no regular file, or empty, cannot be mapped.
        mapped = path.is_file() and path.stat().st_size
        read = np.memmap(path, np.uint8, mode="r") if mapped else path.read_bytes()
    except OSError as error:
        raise VotesError(f"{path}: {(error.strerror or 'unreadable').lower()}") from error
    data = np.frombuffer(read, np.uint8)
    if data[:3].tobytes() == b"\xef\xbb\xbf":
        data = data[3:]
    if data.max(initial=0) > 127:
        _refuse_other_encodings(data.tobytes(), path)
    if data.min(initial=255) == 0:
        line = np.count_nonzero(data[: np.argmin(data)] == ord("\n")) + 1
        raise VotesError(f"{path}:{line}: a byte is zero: the file is damaged, or not UTF-8 text")
    return data


def _refuse_other_encodings(data: bytes, path: Path) -> None:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise VotesError(f"{path}:{line}: the bytes are not UTF-8 text") from error


def _read_csv(data: np.ndarray, path: Path, wanted: Sequence[str]) -> Columns:
    header, lines = _csv_header(data, path)
    quoted = ord('"') in data
    if quoted and np.count_nonzero(data == ord('"')) % 2:
        # The fast reader would take the rest of the file for one field.
        raise _csv_fault(data, path, len(header), "a quote is never closed")
    names = [name for name in wanted if name in header]
    try:
        table = arrow_csv.read_csv(
            pa.BufferReader(data),
            read_options=arrow_csv.ReadOptions(
                column_names=header, skip_rows=lines, block_size=LONGEST_LINE
            ),
            parse_options=arrow_csv.ParseOptions(newlines_in_values=quoted),
            convert_options=arrow_csv.ConvertOptions(
                include_columns=names,
                column_types=dict.fromkeys(names, pa.string()),
                check_utf8=False,  # done before
            ),
        )
    except pa.ArrowInvalid as error:
        raise _csv_fault(data, path, len(header), error) from error
    # Only a quoted field can hold a line's end.
    for name in REQUIRED if quoted else ():
        broken = pc.index(pc.match_substring_regex(table[name], r"[\r\n]"), True).as_py()
        if broken >= 0:
            raise VotesError(f"{path}:{_csv_line(data, broken)}: the {name} goes over a line's end")
    return {name: table[name] for name in names}, lambda row: _csv_line(data, row)


def _csv_header(data: np.ndarray, path: Path) -> tuple[list[str], int]:
    """Names of the columns, and how many lines they and blank lines before them take."""
    _, lines, header = next(_csv_rows(data[:LONGEST_LINE]))
    header = [name.strip() for name in header]
    missing = [name for name in REQUIRED if name not in header]
    if missing:
        raise VotesError(
            f"{path}:1: no column {' and no column '.join(missing)} (the file has: "
            f"{', '.join(header)[:200]})"
        )
    twice = next((name for name in REQUIRED + OPTIONAL if header.count(name) > 1), None)
    if twice:
        raise VotesError(f"{path}:1: two columns are called {twice}")
    return header, lines


def _csv_rows(data: np.ndarray, *, strict: bool = False) -> Iterator[tuple[int, int, list[str]]]:
    """Rows with their first and last line, blank lines skipped, as the fast reader counts them."""
    text = io.StringIO(data.tobytes().decode(errors="replace"), newline="")
    reader = csv.reader(text, strict=strict)
    begin = 1
    # The fast reader takes longer fields than this one does by itself.
    limit = csv.field_size_limit(len(data) + 1)
    try:
        for row in reader:
            if row:
                yield begin, reader.line_num, row
            begin = reader.line_num + 1
    finally:
        csv.field_size_limit(limit)


def _csv_line(data: np.ndarray, row: int) -> int:
    return next(itertools.islice(_csv_rows(data), row + 1, None))[0]


def _csv_fault(data: np.ndarray, path: Path, width: int, error: object) -> VotesError:
    """What the fast reader stumbled on, with its line."""
    rows, line = 0, 1
    try:
        for line, _, row in _csv_rows(data, strict=True):
            rows += 1
            if len(row) != width:
                return VotesError(f"{path}:{line}: {len(row)} fields where the header has {width}")
            if len("".join(row).encode()) + width > LONGEST_LINE:
                return VotesError(f"{path}:{line}: more than {LONGEST_LINE:,} bytes in one row")
    except csv.Error as fault:
        return VotesError(f"{path}:{line}: broken CSV after this line ({fault})")
    if rows < 2:
        return VotesError(f"{path}:1: there are no votes")
    return VotesError(f"{path}:1: {str(error).splitlines()[0]}")


def _read_json_lines(data: np.ndarray, path: Path, wanted: Sequence[str]) -> Columns:
    columns = {name: [] for name in wanted}
    lines = []
    for number, line in enumerate(data.tobytes().split(b"\n"), 1):
        if not line.strip():
            continue
        record = _json_record(line, f"{path}:{number}")
        for name in wanted:
            columns[name].append(_json_text(record.get(name), name, f"{path}:{number}"))
        lines.append(number)
    filled = {n: column for n, column in columns.items() if n in REQUIRED or any(column)}
    return filled, lambda row: lines[row]


def _json_record(line: bytes, place: str) -> dict:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise VotesError(f"{place}: the line is not JSON") from error
    if not isinstance(record, dict):
        raise VotesError(f"{place}: the line is not a JSON object")
    missing = [name for name in REQUIRED if name not in record]
    if missing:
        raise VotesError(f"{place}: no {' and no '.join(missing)}")
    return record


def _json_text(value: object, name: str, place: str) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        raise VotesError(f"{place}: {name} must be text or a number")
    text = value if isinstance(value, str) else json.dumps(value)
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise VotesError(f"{place}: {name} is not valid text (half a character, or a zero)")
    return text


class Names(Sequence):
    """Texts of an Arrow column; they become Python's only where somebody asks for them."""

    def __init__(self, column: pa.Array) -> None:
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, place: Any) -> Any:
        return self.column[int(place)].as_py()

    def __iter__(self) -> Iterator[str]:
        return iter(self.column.to_pylist())


def _text(column: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks()
    return column if isinstance(column, pa.Array) else from_text(column)


def _codes(column: pa.Array | pa.ChunkedArray | Sequence[str]) -> tuple[Names, np.ndarray]:
    """Names in alphabetical order, blanks around them cut, and each row's int32 code.

    Files are mostly grouped by task: equal neighbours are merged first, which is cheaper than
    looking every name up.
    """
    column = _text(column)
    if _begins(column[: 1 << 12]).mean() > 0.25:
        return _encoded(column)
    begin = np.flatnonzero(_begins(column))
    names, codes = _encoded(column.take(from_numpy(begin)))
    return names, np.repeat(codes, np.diff(begin, append=len(column)))


def _begins(column: pa.Array) -> np.ndarray:
    """True where a text differs from the one before it."""
    begins = np.ones(len(column), dtype=bool)
    begins[1:] = to_numpy(pc.not_equal(column[1:], column[:-1]))
    return begins


def _encoded(column: pa.Array) -> tuple[Names, np.ndarray]:
    texts, codes = _distinct(column)
    trimmed = pc.utf8_trim_whitespace(texts)
    if not trimmed.equals(texts):
        again = trimmed.dictionary_encode()
        texts, codes = again.dictionary, to_numpy(again.indices)[codes]
    if _rising(texts):
        return Names(texts), codes
    order = to_numpy(pc.array_sort_indices(texts)).astype(np.int64)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Names(texts.take(from_numpy(order))), rank[codes]


def _rising(column: pa.Array) -> bool:
    """Whether every text comes after the one before it."""
    return pc.all(pc.less(column[:-1], column[1:])).as_py() is not False


def _distinct(column: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """Distinct texts, and each row's int32 code.

    Texts of one width of 1, 2, 4 or 8 bytes are looked up as whole numbers, in half the time; those
    of 1 or 2 in a table of all numbers there are.
    """
    if _rising(column[: 1 << 12]) and _rising(column):
        return column, np.arange(len(column), dtype=np.int32)
    ends = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
    width = int(ends[1]) - int(ends[0])
    if width not in (1, 2, 4, 8) or np.any(np.diff(ends) != width):
        coded = column.dictionary_encode()
        return coded.dictionary, to_numpy(coded.indices)
    kind = {1: pa.uint8(), 2: pa.uint16(), 4: pa.uint32(), 8: pa.uint64()}[width]
    texts = column.buffers()[2][int(ends[0]) : int(ends[-1])]
    if width <= 2:
        distinct, codes = _looked_up(np.frombuffer(texts, np.dtype(str(kind))))
    else:
        coded = pa.Array.from_buffers(kind, len(column), [None, texts]).dictionary_encode()
        distinct, codes = to_numpy(coded.dictionary), to_numpy(coded.indices)
    places = pa.py_buffer(np.arange(len(distinct) + 1, dtype=np.int32) * np.int32(width))
    buffers = [None, places, pa.py_buffer(distinct)]
    return pa.Array.from_buffers(pa.string(), len(distinct), buffers), codes


def _looked_up(numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct numbers of 8 or 16 bits, rising, and each row's int32 code."""
    place = numbers.astype(np.intp)
    table = np.zeros(np.iinfo(numbers.dtype).max + 1, dtype=np.int32)
    table[place] = 1
    distinct = np.flatnonzero(table).astype(numbers.dtype)
    table[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, table.take(place)


def _second_vote(
    tasks: Sequence, task: np.ndarray, workers: Sequence, worker: np.ndarray
) -> tuple[int, int] | None:
    """Rows of the first vote that repeats one of the same worker and task, and of that one."""
    if _all_differ_in_runs(len(tasks), task, worker):
        return None
    cells = len(tasks) * len(workers)
    key = np.multiply(task, len(workers), dtype=np.int64)
    key += worker
    if cells <= SEEN_CELLS:
        seen = np.zeros(cells, dtype=bool)
        seen[key] = True
        if np.count_nonzero(seen) == len(key):
            return None
    order = np.argsort(key, kind="stable")
    same = np.flatnonzero(key[order][1:] == key[order][:-1])
    if not same.size:
        return None
    at = same[np.argmin(order[same + 1])]
    return int(order[at]), int(order[at + 1])


def _all_differ_in_runs(tasks: int, task: np.ndarray, worker: np.ndarray) -> bool:
    """True where each task's rows stand together, in short runs, and no worker is there twice."""
    if np.count_nonzero(task[1:] != task[:-1]) + 1 != tasks:
        return False
    for distance in range(1, LONGEST_RUN):
        together = task[distance:] == task[:-distance]
        if not together.any():
            return True
        together &= worker[distance:] == worker[:-distance]
        if together.any():
            return False
    return False


def _refuse_second_vote(votes: Votes, rows: tuple[int, int] | None) -> None:
    if rows:
        first, second = rows
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


def _durations(column: pa.Array, where: Callable[[int | None], str]) -> np.ndarray:
    out = np.full(len(column), np.nan)
    for row, text in enumerate(column.to_pylist()):
        if text:
            out[row] = number(text)
            if not out[row] >= 0:
                raise VotesError(f"{where(row)}: seconds is not a number of seconds")
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
    """Values of an Arrow column of whole numbers or truth values without gaps, as NumPy."""
    if pa.types.is_boolean(column.type):
        return to_numpy(pc.cast(column, pa.uint8())).view(bool)
    kind = np.dtype(str(column.type))
    values = np.frombuffer(column.buffers()[1], dtype=kind, count=column.offset + len(column))
    return values[column.offset :]


def from_numpy(values: np.ndarray) -> pa.Array:
    """An Arrow column over a NumPy array of int32, int64 or float64; nothing is copied."""
    kind = {"int32": pa.int32(), "int64": pa.int64(), "float64": pa.float64()}
    values = np.ascontiguousarray(values)
    buffers = [None, pa.py_buffer(values)]
    return pa.Array.from_buffers(kind[values.dtype.name], len(values), buffers)


def from_text(texts: Iterable[str]) -> pa.Array:
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pc.cast(pa.Array.from_buffers(pa.large_string(), len(encoded), buffers), pa.string())


def constant(text: str) -> pa.Scalar:
    return from_text([text])[0]
