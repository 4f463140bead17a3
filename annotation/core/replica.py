"""Pages of results and releases from a copy of the database that PostgreSQL streams.

ATTUNE_REPLICA_URL names it. Who has just changed something, and everybody while the copy does not
answer or lags, reads the database itself; accounts, sessions and studies are always read there.
"""

import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections, models
from django.http import HttpRequest
from django.http.response import HttpResponseBase

log = logging.getLogger(__name__)
ALIAS = "replica"
PAGES = {
    *("results", "ratings", "raters", "rater", "releases", "gap", "estimates", "models"),
    *("api-judgments", "api-releases", "api-estimates"),
}
# Who may do what must not be late.
PRIMARY_APPS = {"accounts", "sessions", "studies", "core", "mfa", "account", "usersessions"}
WROTE, WROTE_SECONDS = "attune-wrote", 10
_reads: ContextVar[bool] = ContextVar("reads_replica", default=False)


class Router:
    """Reads of a page that `Replica` chose go to the copy, all writes to the database itself."""

    def db_for_read(self, model: type[models.Model], **hints: Any) -> str:
        late = _reads.get() and model._meta.app_label not in PRIMARY_APPS
        return ALIAS if late else DEFAULT_DB_ALIAS

    def db_for_write(self, model: type[models.Model], **hints: Any) -> str:
        return DEFAULT_DB_ALIAS

    def allow_relation(self, first: models.Model, second: models.Model, **hints: Any) -> bool:
        return True

    def allow_migrate(self, db: str, app_label: str, **hints: Any) -> bool:
        return db == DEFAULT_DB_ALIAS


class Replica:
    """Lets the pages of PAGES read the copy; `request.data_age` is how old it is at most, in s."""

    def __init__(self, get_response: Callable) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        token = _reads.set(False)
        try:
            response = self.get_response(request)
        finally:
            _reads.reset(token)
        if (age := getattr(request, "data_age", None)) is not None:
            response.headers["X-Data-Age"] = str(age)
        if request.method not in {"GET", "HEAD"}:
            safe = {"secure": settings.HTTPS, "httponly": True, "samesite": "Lax"}
            response.set_cookie(WROTE, "1", WROTE_SECONDS, **safe)
        return response

    def process_view(self, request: HttpRequest, *args: Any) -> None:
        """Choose the copy for a page that only reads, where it is young enough."""
        match = request.resolver_match
        if request.method != "GET" or WROTE in request.COOKIES or not match:
            return
        if match.url_name in PAGES and (age := _age()) is not None:
            _reads.set(True)
            request.data_age = age  # type: ignore[attr-defined]


def _age() -> int | None:
    """Seconds since the copy's last change at most; None where it does not serve or is too old.

    Workers sign every quarter of a minute, so a copy that is up to date is hardly older.
    """
    try:
        with connections[ALIAS].cursor() as cursor:
            cursor.execute(
                "SELECT ceil(extract(epoch FROM now() - pg_last_xact_replay_timestamp()))"
            )
            age = cursor.fetchone()[0]
    except Error as error:
        log.warning("the replica does not answer: %s", type(error).__name__)
        return None
    return int(age) if age is not None and age <= settings.REPLICA_MAX_SECONDS else None
