"""Unpacks a release, ours or a published one, reads its tables, and lists what is faulty. Pure.

A table is there as Parquet, JSON lines or CSV, in one file or in numbered ones. Rows come with the
place that a fault names.
"""

import csv
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from annotation.core import records
from annotation.core.arrow import pa, pq
from annotation.core.errors import DomainError
from annotation.core.foreign import Limits, check_footer, zip_directory

ENDINGS = ("parquet", "jsonl", "csv")
# Of tables whose rows hold more than texts, which CSV does not: JSON lines where both are there.
WITH_STRUCTURE = ("jsonl", "parquet")
# Ours number the files of a table from 00000.
SHARD = r"-\d{5,}"
# A row group or line that is larger is no row of a release.
LINE_LIMIT = 16 * 1024 * 1024
BATCH = 100
ENTRIES_LIMIT, DIRECTORY = 20_000, 6 << 20
MOST = records.VALUES_LIMIT
# Of the pairs of a benchmark; a public copy spells one folder otherwise.
HALVES = {"specific": ("specific", "spedific"), "general": ("general",)}


class Faults(list):
    """[{"file", "line", "reason"}] of rows that were left out, each once."""

    def __init__(self) -> None:
        super().__init__()
        self._listed: set[tuple] = set()

    def add(self, path: str, line: int | None, reason: str) -> None:
        """Note one; ``line`` is the row's number from 1, None for the file as a whole."""
        if (path, line, reason) not in self._listed:
            self._listed.add((path, line, reason))
            self.append({"file": path, "line": line, "reason": reason})


def parts(folder: Path, name: str, endings: tuple[str, ...] = ENDINGS) -> list[Path]:
    """The files of the table ``name`` (a path without its ending): one, its shards, or none."""
    inside, _, stem = name.rpartition("/")
    for ending in endings:
        whole = folder / f"{name}.{ending}"
        if whole.is_file():
            return [whole]
        shard = re.compile(rf"{re.escape(stem)}{SHARD}\.{ending}")
        present = (folder / inside).iterdir() if (folder / inside).is_dir() else ()
        if shards := sorted(path for path in present if shard.fullmatch(path.name)):
            return shards
    return []


def table_of(path: str) -> str:
    """The name of the table that the file ``path`` holds, or a shard of it."""
    return re.sub(rf"({SHARD})?\.[a-z]+$", "", path)


def rows(folder: Path, name: str, faults: Faults) -> Iterator[tuple[str, int, dict]]:
    """(file, number from 1, row) of the table's rows that are objects; texts are cleaned.

    Nothing where the table is missing. What cannot be read goes into ``faults``.
    """
    for path in parts(folder, name):
        shown = path.relative_to(folder).as_posix()
        try:
            for number, row in enumerate(_READERS[path.suffix](path), start=1):
                if isinstance(row, dict):
                    yield shown, number, {str(key): _clean(value) for key, value in row.items()}
                else:
                    reason = row if isinstance(row, str) else "the row is no object"
                    faults.add(shown, number, reason)
        except (OSError, ValueError, csv.Error, pa.ArrowException) as error:
            faults.add(shown, None, f"the file cannot be read: {type(error).__name__}")


def whole_rows(path: Path, name: str, refusal: type[DomainError]) -> Iterator[tuple[int, dict]]:
    """(number from 1, row) of a file of WITH_STRUCTURE, whose first fault is a ``refusal``."""
    if path.suffix != ".parquet":
        yield from records.objects(path, name, refusal)
        return
    try:
        yield from enumerate(_parquet(path), start=1)
    except (OSError, pa.ArrowException) as error:
        raise refusal(f"{name} cannot be read as Parquet.") from error


def text_of(row: dict, *names: str) -> str:
    """The text or number in the first of these columns that the row has; DomainError without."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value).removesuffix(".0")
    raise DomainError(f"there is no text “{names[0]}”")


def json_of(row: dict, *names: str) -> Any:
    """The JSON value in the first of these columns, written as text or as it is; DomainError."""
    for name in names:
        value = row.get(name)
        if isinstance(value, str):
            try:
                return _clean(json.loads(value))
            except (ValueError, RecursionError):
                raise DomainError(f"“{name}” is no JSON") from None
        if value is not None:
            return value
    raise DomainError(f"there is no “{names[0]}”")


def _clean(value: Any) -> Any:
    """``value`` with every text as PostgreSQL can store it."""
    if isinstance(value, str):
        return records.clean(value)
    if isinstance(value, list):
        return [_clean(entry) for entry in value]
    if isinstance(value, dict):
        return {records.clean(str(key)): _clean(entry) for key, entry in value.items()}
    return value


def _parquet(path: Path) -> Iterator[dict]:
    check_footer(path)
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            yield from batch.to_pylist()


def _json_lines(path: Path) -> Iterator[dict | str]:
    # In bytes: a string of JSON may hold other ends of lines, U+2028 for one.
    with path.open("rb") as file:
        while line := file.readline(LINE_LIMIT):
            if not line.strip():
                continue
            try:
                text = line.decode()
                many = records.holds_many(text)
                yield f"the line holds more than {MOST:,} values" if many else json.loads(text)
            except (ValueError, RecursionError):
                yield "the line is no JSON"


def _csv(path: Path) -> Iterator[dict]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        yield from csv.DictReader(file, restkey="")


_READERS = {".parquet": _parquet, ".jsonl": _json_lines, ".csv": _csv}


# --- What a user sends ----------------------------------------------------------------------------


def messages(path: Path, scratch: Path, limits: Limits) -> Iterator[list[str]]:
    """The folder of the release in the zip ``path``, for the process that reads it (core.foreign).

    Whoever reads its tables then takes no more than was taken here, within the limits.
    """
    folder = unpack(path, scratch / "release", limits.unpacked)
    read_through(folder)
    yield [str(folder)]


def read_through(folder: Path) -> None:
    """Read every table to its end; a faulty one is left to whoever imports it."""
    for path in folder.rglob("*"):
        if path.suffix in _READERS and path.is_file():
            with suppress(ValueError, csv.Error, pa.ArrowInvalid):
                for _row in _READERS[path.suffix](path):
                    pass


def unpack(path: Path, folder: Path, limit: int) -> Path:
    """Unpack the zip ``path`` into ``folder``; the folder of the release, which may lie deeper.

    DomainError for what is no zip, leads outside, or has more than ``limit`` bytes unpacked.
    """
    folder.mkdir()
    with path.open("rb") as file:
        if zip_directory(file) > DIRECTORY:
            raise DomainError(f"The zip holds more than {ENTRIES_LIMIT:,} files.", code="zip")
    try:
        with zipfile.ZipFile(path) as packed:
            entries = packed.infolist()
            if len(entries) > ENTRIES_LIMIT:
                raise DomainError(f"The zip holds more than {ENTRIES_LIMIT:,} files.", code="zip")
            if any(_leads_outside(entry.filename) for entry in entries):
                raise DomainError("The zip holds a path that leads outside of it.", code="zip")
            # Of no entry more bytes are unpacked than it says it has.
            room = min(limit, shutil.disk_usage(folder).free // 2)
            if sum(entry.file_size for entry in entries) > room:
                raise DomainError("The zip is too large when it is unpacked.", code="zip")
            packed.extractall(folder)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError) as error:
        raise DomainError("The file is no zip that can be read.", code="zip") from error
    while len(inside := [member for member in folder.iterdir() if member.name != "__MACOSX"]) == 1:
        if not inside[0].is_dir() or inside[0].name in ("data", "specific", "spedific", "general"):
            break
        folder = inside[0]
    return folder


def _leads_outside(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name
