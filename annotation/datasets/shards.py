"""A table as files of a fixed number of rows; a killed writer's whole files are not written again.

The journal in the folder has a line for each whole file: its entry of the manifest, and under "of"
the SHA-256 of the rows it was made from. Whoever takes the folder up makes all rows again, so that
counts are complete, and compares their digests: a release never mixes two states of its rows.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Self

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
