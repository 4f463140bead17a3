"""Fields of judgments in files: names, times and reasons."""

from datetime import UTC, datetime, timedelta

from django.utils import timezone

from annotation.core.errors import DomainError
from annotation.judging.kinds.body import REASON_LIMIT

FIRST_YEAR = datetime(1970, 1, 1, tzinfo=UTC)


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
