"""Reads a votes file, CSV or JSON lines told apart by content, one row at a time."""

import codecs
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

from annotation.core.errors import DomainError
from annotation.judging.kinds.words import REASON_LIMIT
from annotation.judging.work.submit import read_seconds

REQUIRED = ("task", "worker", "label")
KNOWN = (*REQUIRED, "submitted_at", "seconds", "reason")
FIRST_YEAR = datetime(1970, 1, 1, tzinfo=UTC)
SAMPLE = 65_536


class VotesFileError(DomainError):
    """The file holds no votes at all; the sentence names file and line."""

    code = "votes"


@dataclass(frozen=True)
class Vote:
    """One row of the file; ``submitted_at`` is now where the file does not say."""

    task: str
    worker: str
    label: str
    submitted_at: datetime
    seconds: float | None
    reason: str


def rows(path) -> Iterator[tuple[int, Vote | str]]:
    """Line number and vote of each row, or the reason why the row is none.

    Raises VotesFileError where the file cannot be read, is empty or lacks a column.
    """
    path = Path(path)
    try:
        if not path.is_file():
            raise VotesFileError(f"{path}: there is no such file")
        with path.open("rb") as raw:
            head = raw.read(SAMPLE).removeprefix(codecs.BOM_UTF8).lstrip()
            raw.seek(0)
            if not head:
                raise VotesFileError(f"{path}, line 1: the file is empty")
            # A byte that is no UTF-8 spoils its own row only.
            stream = io.TextIOWrapper(raw, "utf-8-sig", errors="surrogateescape", newline="")
            read = _json_rows(stream) if head[:1] in b"{[" else _csv_rows(stream, path)
            for line, record in read:
                yield line, record if isinstance(record, str) else _vote(record)
    except OSError as error:
        words = (error.strerror or "it cannot be read").lower()
        raise VotesFileError(f"{path}: {words}") from error


def _csv_rows(stream, path) -> Iterator[tuple[int, dict | str]]:
    records = _csv_records(stream)
    line, header = next(((line, row) for line, row in records if row), (1, []))
    if isinstance(header, str):
        raise VotesFileError(f"{path}, line {line}: {header}")
    header = [name.strip() for name in header]
    for name in KNOWN:
        if header.count(name) > 1:
            raise VotesFileError(f"{path}, line {line}: two columns are called {name}")
        if name in REQUIRED and name not in header:
            raise VotesFileError(f"{path}, line {line}: there is no column {name}")
    for number, row in records:
        if isinstance(row, str):
            yield number, row
        elif row and len(row) != len(header):
            yield number, f"{len(row)} fields where the header has {len(header)}"
        elif row:
            yield number, dict(zip(header, row, strict=True))


def _csv_records(stream) -> Iterator[tuple[int, list | str]]:
    """Fields of each record with the line it begins on, or what is broken there."""
    reader = csv.reader(stream, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except csv.Error as error:
            yield line, f"broken CSV ({error})"
        except StopIteration:
            return


def _json_rows(stream) -> Iterator[tuple[int, dict | str]]:
    for number, line in enumerate(stream, 1):
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            yield number, "the line is not JSON"
        else:
            yield number, record if isinstance(record, dict) else "the line is not a JSON object"


def _vote(record: dict) -> Vote | str:
    try:
        return Vote(
            **{name: _name(record.get(name), name) for name in REQUIRED},
            submitted_at=_moment(record.get("submitted_at")),
            seconds=read_seconds(record.get("seconds")),
            reason=_reason(record.get("reason")),
        )
    except DomainError as error:
        return error.sentence


def _text(value, name: str) -> str:
    if not isinstance(value, str):
        raise DomainError(f"{name} must be text")
    if "\x00" in value:
        raise DomainError(f"{name} holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DomainError(f"{name} is not valid UTF-8 text") from error
    return value.strip()


def _name(value, name: str) -> str:
    # JSON may spell an id or a worker as a number.
    value = _text(str(value) if type(value) is int else value or "", name)
    if not value:
        raise DomainError(f"{name} is missing")
    return value


def _moment(value) -> datetime:
    """A time in ISO 8601; without a zone it is UTC."""
    now = timezone.now()
    if value in (None, ""):
        return now
    try:
        moment = datetime.fromisoformat(_text(value, "submitted_at"))
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except ValueError as error:
        raise DomainError("submitted_at is not a time in ISO 8601") from error
    if not FIRST_YEAR <= moment <= now + timedelta(days=1):
        raise DomainError("submitted_at lies before 1970 or in the future")
    return moment


def _reason(value) -> str:
    reason = _text("" if value is None else value, "reason")
    if len(reason) > REASON_LIMIT:
        raise DomainError(f"the reason has more than {REASON_LIMIT:,} characters")
    return reason
