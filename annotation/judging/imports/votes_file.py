"""Reads a votes file, CSV or JSON lines by its content, one row at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.utils import timezone

from annotation.core import records
from annotation.core.errors import DomainError
from annotation.judging.kinds.body import REASON_LIMIT
from annotation.judging.work.submit import read_seconds

REQUIRED = ("task", "worker", "label")
COLUMNS = (*REQUIRED, "submitted_at", "seconds", "reason")
FIRST_YEAR = datetime(1970, 1, 1, tzinfo=UTC)


class VotesFileError(DomainError):
    """The file holds no votes at all; the sentence names file and line."""

    code = "votes"


@dataclass(frozen=True)
class Vote:
    """One row of the file; ``submitted_at`` is None where the file has no time."""

    task: str
    worker: str
    label: str
    submitted_at: datetime | None
    seconds: float | None
    reason: str


def rows(path: Path | str) -> Iterator[tuple[int, Vote | str]]:
    """Line number and vote of each row, or the reason why the row is none.

    Raises VotesFileError where the file cannot be read, is empty or lacks a column.
    """
    if not Path(path).is_file():
        raise VotesFileError(f"{path}: there is no such file")
    check = records.columns(COLUMNS, REQUIRED)
    for line, record in records.of_file(path, VotesFileError, check):
        yield line, record if isinstance(record, str) else _vote(record)


def _vote(record: dict) -> Vote | str:
    try:
        return Vote(
            **{column: name(record.get(column), column) for column in REQUIRED},
            submitted_at=moment(record.get("submitted_at")),
            seconds=read_seconds(record.get("seconds")),
            reason=reason(record.get("reason")),
        )
    except DomainError as error:
        return error.sentence


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise DomainError(f"{name} must be text")
    if "\x00" in value:
        raise DomainError(f"{name} holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DomainError(f"{name} is not valid UTF-8 text") from error
    return value.strip()


def name(value: object, column: str) -> str:
    """A name or an id; DomainError, which names the column, where there is none."""
    # JSON may spell an id or a worker as a number.
    value = _text(str(value) if type(value) is int else value or "", column)
    if not value:
        raise DomainError(f"{column} is missing")
    return value


def moment(value: object) -> datetime | None:
    """A time in ISO 8601, without a zone in UTC; None for nothing. DomainError for no such time."""
    if value in (None, ""):
        return None
    try:
        at = datetime.fromisoformat(_text(value, "submitted_at"))
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
    except ValueError as error:
        raise DomainError("submitted_at is not a time in ISO 8601") from error
    if not FIRST_YEAR <= at <= timezone.now() + timedelta(days=1):
        raise DomainError("submitted_at lies before 1970 or in the future")
    return at


def reason(value: object) -> str:
    """A text of at most REASON_LIMIT characters, nothing included; DomainError."""
    text = _text("" if value is None else value, "reason")
    if len(text) > REASON_LIMIT:
        raise DomainError(f"the reason has more than {REASON_LIMIT:,} characters")
    return text
