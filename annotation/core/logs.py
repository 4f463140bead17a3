"""What a line of the log holds: the request's id, ids of user and study, and no text of anybody."""

from __future__ import annotations  # what gunicorn's own process needs no Django for

import json
import logging
import re
import sys
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from django.http import HttpRequest


# The request being answered, and its id; None and "" in workers and commands.
current: ContextVar[HttpRequest | None] = ContextVar("request", default=None)
request_id: ContextVar[str] = ContextVar("request_id", default="")

# PostgreSQL's details quote the row: addresses, names, answers.
_DETAILS = re.compile(r"^(?:DETAIL|CONTEXT|HINT|LINE \d+):?.*(?:\n\s+.*)*\n?", re.MULTILINE)
_REFUSAL_LOGGERS = ("django.request", "django.security")


class Context(logging.Filter):
    """Adds ids to a record, masks keys in paths, and keeps tracebacks to faults of ours."""

    def filter(self, record: logging.LogRecord) -> bool:
        user_id, study = _who_and_where()
        record.__dict__.update(request_id=request_id.get(), user_id=user_id, study=study)
        record.trace_id = _trace_id()
        if isinstance(record.args, tuple):
            record.args = tuple(
                masked(value) if isinstance(value, str) else value for value in record.args
            )
        if record.name.startswith(_REFUSAL_LOGGERS) and getattr(record, "status_code", 400) < 500:
            record.exc_info = record.exc_text = None
        return True


def _trace_id() -> str:
    """The trace under way (`core.telemetry`) as 32 hexadecimal digits, "" without one."""
    trace = sys.modules.get("opentelemetry.trace")
    number = trace.get_current_span().get_span_context().trace_id if trace else 0
    return trace.format_trace_id(number) if trace and number else ""


def _who_and_where() -> tuple[int | None, str]:
    request = current.get()
    if request is None:
        return None, ""
    # Only who is known already: a log line must not ask the database.
    user = getattr(request, "_cached_user", None)
    match = request.resolver_match
    return getattr(user, "pk", None), match.kwargs.get("slug", "") if match else ""


class Line(logging.Formatter):
    """One line for people, without the database's details in tracebacks."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} [{request_id}] {message}", style="{")

    def formatException(self, ei: Any) -> str:  # noqa: N802 - logging's name
        return _DETAILS.sub("", super().formatException(ei))


class Json(Line):
    """One JSON object a line, for programs (ATTUNE_LOG_FORMAT=json)."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request": getattr(record, "request_id", None) or None,
            "user": getattr(record, "user_id", None),
            "study": getattr(record, "study", None) or None,
            "trace_id": getattr(record, "trace_id", None) or None,
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in entry.items() if value is not None})


# What follows these is a key, short or long.
_AFTER = r"(?<=/invitations/)|(?<=/join/)|(?<=/crowd/)|(?<=/confirm-email/)|(?<=/reset/key/)"
# Pages below those addresses that hold no key.
_PAGES = r"(?!(?:study|returned)(?:/|$))"
_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:/|$)"
# Any other long segment may be a key as well, unless it is an id.
KEY = re.compile(rf"(?:{_AFTER}){_PAGES}[^/\s]+|(?<=/)(?!{_UUID})[^/\s]{{20,}}")


def masked(path: str) -> str:
    """Return ``path`` with every segment that may be a key replaced by dots."""
    return KEY.sub("...", path)
