"""A database or broker that does not answer: one line in the log, status 503 for the request."""

import logging

import redis
from django.db import InterfaceError, OperationalError
from django.utils.translation import gettext as _
from kombu.exceptions import OperationalError as BrokerError

log = logging.getLogger(__name__)

DATABASE = (OperationalError, InterfaceError)
MEMORY = (redis.RedisError, BrokerError)
ALL = (*DATABASE, *MEMORY)
RETRY = {"Retry-After": "5"}


def note(error: BaseException) -> None:
    """Log the cause in one line: the class, and of a database's error the SQLSTATE."""
    state = getattr(error.__cause__, "sqlstate", None) or "none"
    part = "database" if isinstance(error, DATABASE) else "redis"
    log.warning("%s unavailable: %s, SQLSTATE %s", part, type(error).__name__, state)


def explained(error: BaseException) -> tuple[str, str]:
    """A title and a sentence for people."""
    if isinstance(error, DATABASE):
        title = _("The database is not answering")
        return title, _("Nothing you sent was lost on the way: send it again in a moment.")
    title = _("A part of the server is not answering")
    return title, _("Logging in and joining wait for it; nothing was changed. Try again shortly.")
