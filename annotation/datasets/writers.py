"""Tables to files: JSON lines, CSV and Parquet. The same rows give the same bytes.

A table may come as files of a fixed number of rows, and a killed writer's whole files are not
written again. The journal in the folder has a line for each whole file: its entry of the manifest,
and under "of" the SHA-256 of the rows it was made from. Whoever takes the folder up makes all rows
again, so that counts are complete, and compares their digests: a release never mixes two states of
its rows.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

from annotation.core.arrow import pa, pq
from annotation.core.downloads import disarmed

JOURNAL = ".finished.jsonl"
# Made once: json.dumps would make one for each row. No value of a release is in itself.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False)


def json_text(value: object) -> str:
    """One line of JSON, other scripts than Latin as they are."""
    return _ENCODER.encode(value)


class ChangedRowsError(Exception):
    """The rows of a finished file are no longer those that it was written from."""


def describe(folder: Path, path: str, rows: int) -> dict:
    """The manifest's entry of one file."""
    with (folder / path).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"path": path, "rows": rows, "bytes": file.tell(), "sha256": digest}


def write_text(folder: Path, path: str, text: str) -> dict:
    """Write a file that is no table, as it is; its entry of the manifest."""
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(text, encoding="utf-8")
    return describe(folder, path, 0)


class Journal:
    """The whole files of ``folder``; everything else in it is deleted at the beginning."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.finished = {entry["path"]: entry for entry in self._noted()}
        for path in list(folder.rglob("*")):
            if path.is_file() and path.relative_to(folder).as_posix() not in self.finished:
                path.unlink()
        for entry in self.finished.values():
            self._write(entry)

    def _noted(self) -> Iterator[dict]:
        """Lines of files that are as they were noted; the last line may be half a line."""
        try:
            lines = (self.folder / JOURNAL).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return
        for line in lines:
            try:
                entry = json.loads(line)
                present = describe(self.folder, entry["path"], entry["rows"])
            except (ValueError, FileNotFoundError):
                continue
            if present == {name: entry[name] for name in present}:
                yield entry

    def note(self, path: str, rows: int, of: str) -> dict:
        """Write down that a file is whole; its entry of the manifest."""
        entry = describe(self.folder, path, rows)
        self._write(entry | {"of": of})
        return entry

    def _write(self, entry: dict) -> None:
        with (self.folder / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(json_text(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Delete the journal: the release is whole."""
        (self.folder / JOURNAL).unlink(missing_ok=True)


class Shards:
    """The files NAME-00000, NAME-00001, … of a table, each of ``size`` rows but the last.

    ``path`` is the table's as one file, ``make`` opens a file's writer. Raises ChangedRowsError
    where rows are others than those of a finished file. A table without rows is one empty file.
    """

    def __init__(
        self,
        journal: Journal,
        path: str,
        columns: Mapping[str, str | list],
        size: int,
        make: Callable[[Path], Any],
    ) -> None:
        self.journal, self.path, self.columns = journal, PurePosixPath(path), columns
        self.size, self.make = size, make
        self.entries: list[dict] = []
        self.rows = 0

    @property
    def pattern(self) -> str:
        """The pattern that finds every file of the table."""
        return str(self.path.with_stem(f"{self.path.stem}-*"))

    def __enter__(self) -> Self:
        self._begin()
        return self

    def __exit__(self, *error: Any) -> None:
        if not any(error):
            self._end()
        elif self.writer:
            self.writer.__exit__(*error)

    def write(self, row: dict) -> None:
        if self.held == self.size:
            self._end()
            self._begin()
        self.digest.update(json_text(row).encode())
        if self.writer:
            self.writer.write(row)
        self.held += 1
        self.rows += 1

    def _begin(self) -> None:
        self.held, self.digest = 0, hashlib.sha256()
        self.name = str(self.path.with_stem(f"{self.path.stem}-{len(self.entries):05d}"))
        self.finished = self.journal.finished.get(self.name, {})
        self.writer = None if self.finished else self.make(self.journal.folder / self.name)

    def _end(self) -> None:
        of = self.digest.hexdigest()
        if self.writer:
            self.writer.__exit__(None, None, None)
            entry = self.journal.note(self.name, self.held, of)
        else:
            entry = dict(self.finished)
            if (entry.pop("of"), entry["rows"]) != (of, self.held):
                raise ChangedRowsError(self.name)
        self.entries.append(entry)


ROW_GROUP = 5_000


class ColumnType(NamedTuple):
    """What each format calls a type of column: Arrow, the library ``datasets`` for JSON lines and
    for CSV, Croissant, and JSON schema (None: any value).
    """

    arrow: str
    feature: str
    csv: str
    croissant: str
    schema: str | list[str] | None


# CSV is opened by pandas, whose integers cannot be missing.
TYPES = {
    "text": ColumnType("string", "string", "string", "Text", ["string", "null"]),
    "integer": ColumnType("int64", "int64", "int64", "Integer", "integer"),
    "integer or none": ColumnType("int64", "int64", "float64", "Integer", ["integer", "null"]),
    "number": ColumnType("float64", "float64", "float64", "Float", ["number", "null"]),
    "boolean": ColumnType("bool", "bool", "bool", "Boolean", ["boolean", "null"]),
    "json": ColumnType("string", "json", "string", "Text", None),
}
# Of lists the type of their entries.
LISTS = {"texts": "string", "integers": "int64"}


@dataclass(frozen=True)
class Table:
    """A file of a release: its path in the folder, its format and its columns.

    ``columns`` is {name: type}, types being of ``TYPES`` or ``LISTS``, [{name: type}] for records;
    "json" is a JSON value, written as text where the format has no such thing. JSON lines without
    ``columns`` are objects with keys of their own. The format "files" makes a text file of every
    row. ``config`` and ``split`` are the names under which ``datasets.load_dataset`` opens the
    table, "" where it is not to be opened so. ``whole`` tables are one file in any release.
    """

    path: str
    format: str
    columns: Mapping[str, str | list] = field(default_factory=dict)
    config: str = ""
    # Not the published “all”: the library takes that word for the union of all splits, refuses a
    # split of that name, and answers split="all" with the whole table in either case.
    split: str = "train"
    whole: bool = False


def type_of(kind: str | list) -> ColumnType:
    """What a column is where lists and records are texts: in CSV and Croissant."""
    return TYPES.get(str(kind), TYPES["text"])


def arrow_type(kind: str | list) -> pa.DataType:
    """The Arrow type of a column of ``Table.columns``."""
    if isinstance(kind, list):
        return pa.list_(pa.struct([(name, arrow_type(entry)) for name, entry in kind[0].items()]))
    if kind in LISTS:
        return pa.list_(pa.type_for_alias(LISTS[kind]))
    return pa.type_for_alias(TYPES[kind].arrow)


# What a layout makes: rows, each with its table's name.
TableRows = Iterator[tuple[str, dict]]


def tables_of(format: str, columns: Mapping[str, Mapping[str, str | list]]) -> dict[str, Table]:
    """A table of these columns by each name, which ``load_dataset`` opens by it."""
    return {
        name: Table(f"{name}.{format}", format, of, config=name) for name, of in columns.items()
    }


VOTES = Table("votes.csv", "csv", {"task": "text", "worker": "text", "label": "text"})


class Tables:
    """The open files of a release in ``folder``; a context manager.

    ``safe_csv`` puts an apostrophe before CSV cells that begin like a formula. Without it every
    cell is exact. With ``shard_rows`` each table that ``load_dataset`` opens, unless it is a
    ``whole`` one, comes in files of so many rows, and those that a killed writer left whole in
    ``folder`` are taken over; anything else there is deleted. After the block ``files()`` lists the
    written files and ``journal`` is to be removed.
    """

    def __init__(
        self, folder: Path, tables: dict[str, Table], *, safe_csv: bool = False, shard_rows: int = 0
    ) -> None:
        self.folder, self.tables = folder, tables
        self._stack = ExitStack()
        self._safe_csv, self._shard_rows = safe_csv, shard_rows
        self._writers = {}

    def __enter__(self) -> Self:
        self.journal = Journal(self.folder)
        with ExitStack() as stack:
            for name, table in self.tables.items():
                self._writers[name] = stack.enter_context(self._opened(table))
            self._stack = stack.pop_all()
        return self

    def _opened(self, table: Table) -> Any:
        path = self.folder / table.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if table.whole or not (self._shard_rows and table.config):
            return _writer(path, table, self._safe_csv)
        make = partial(_writer, table=table, safe=self._safe_csv)
        return Shards(self.journal, table.path, table.columns, self._shard_rows, make)

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    def write(self, name: str, row: dict) -> None:
        """Add ``row`` to the table ``name``."""
        self._writers[name].write(row)

    def files(self) -> list[dict]:
        """path, rows, bytes and sha256 of every file, by path."""
        made = []
        for name, table in self.tables.items():
            writer = self._writers[name]
            if isinstance(writer, Shards):
                made += writer.entries
            else:
                made += [describe(self.folder, *file) for file in writer.made(table.path)]
        return sorted(made, key=lambda entry: entry["path"])

    def written(self) -> dict[str, tuple[Table, int]]:
        """{name: the table with the columns its rows have, and their number}.

        The path of a table in several files is the pattern that finds them.
        """
        made = {}
        for name, table in self.tables.items():
            writer = self._writers[name]
            path = writer.pattern if isinstance(writer, Shards) else table.path
            made[name] = replace(table, path=path, columns=writer.columns), writer.rows
        return made


def _writer(path: Path, table: Table, safe: bool) -> Any:
    if table.format == "files":
        return _Texts(path)
    if table.format == "jsonl":
        return _JsonLines(path, table.columns)
    if table.format == "csv":
        return _Csv(path, table.columns, safe)
    return _Parquet(path, table.columns)


class _File:
    """A file that is on the disk when its block ends."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("wb")
        self.rows = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        with self.file:
            self.finish()
            self.file.flush()
            os.fsync(self.file.fileno())

    def finish(self) -> None:
        """Write what is still held back."""

    def made(self, path: str) -> list[tuple[str, int]]:
        """(path, rows) of what was written."""
        return [(path, self.rows)]


class _Texts:
    """A text file of its own for each row: {"path", "text"}."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.paths, self.columns = folder, [], {}

    @property
    def rows(self) -> int:
        """Number of files."""
        return len(self.paths)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def write(self, row: dict) -> None:
        path = self.folder / row["path"]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.write(row["text"] + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.paths.append(row["path"])

    def made(self, path: str) -> list[tuple[str, int]]:
        # A text has no rows, as the check counts them.
        return [(path, 0) for path in self.paths]


class _JsonLines(_File):
    def __init__(self, path: Path, columns: Mapping) -> None:
        super().__init__(path)
        self.open, self.columns = not columns, dict(columns)

    def write(self, row: dict) -> None:
        if self.open:
            self.columns |= dict.fromkeys(row, "json")
        self.file.write(f"{json_text(row)}\n".encode())
        self.rows += 1


class _Csv(_File):
    """RFC 4180: comma, quotes where needed, CRLF; a header always."""

    def __init__(self, path: Path, columns: Mapping, safe: bool) -> None:
        super().__init__(path)
        self.columns, self.guarded = columns, safe
        encoded = SimpleNamespace(write=lambda line: self.file.write(line.encode()))
        self.line = csv.writer(encoded).writerow
        self.line(columns)

    def write(self, row: dict) -> None:
        self.line([self._cell(row[name]) for name in self.columns])
        self.rows += 1

    def _cell(self, value: object) -> str:
        if isinstance(value, str):
            return disarmed(value) if self.guarded else value
        return "" if value is None else json_text(value)


class _Parquet(_File):
    """Row groups of ``ROW_GROUP`` rows; every setting that decides bytes is written down here."""

    def __init__(self, path: Path, columns: Mapping) -> None:
        super().__init__(path)
        self.columns = columns
        self.schema = pa.schema([(name, arrow_type(kind)) for name, kind in columns.items()])
        self.writer = pq.ParquetWriter(
            self.file,
            self.schema,
            version="2.6",
            compression="zstd",
            compression_level=1,
            use_dictionary=True,
            write_statistics=True,
            data_page_version="1.0",
        )
        self.held: list[dict] = []

    def write(self, row: dict) -> None:
        texts = {name: json_text(row[name]) for name, of in self.columns.items() if of == "json"}
        self.held.append(row | texts)
        self.rows += 1
        if len(self.held) == ROW_GROUP:
            self._write()

    def _write(self) -> None:
        self.writer.write_table(pa.Table.from_pylist(self.held, self.schema), ROW_GROUP)
        self.held = []

    def finish(self) -> None:
        if self.held:
            self._write()
        self.writer.close()
