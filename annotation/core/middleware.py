"""What happens to every request: its id, refusals, log-in, language, caches, database."""

import logging
import re
import uuid
from collections.abc import Callable
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import SuspiciousOperation
from django.db import DEFAULT_DB_ALIAS, Error, connections, models
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.core import logs, views

log = logging.getLogger(__name__)
Handler = Callable[[HttpRequest], HttpResponseBase]
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"


def request_id(get_response: Handler) -> Handler:
    """Give each request an id, the client's or a proxy's where it sent one, and return it.

    Every line that is logged meanwhile carries it.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        sent = request.headers.get("X-Request-ID", "")
        name = sent if REQUEST_ID.fullmatch(sent) else uuid.uuid4().hex
        # Not reset: Django logs refusals after this, and the thread's next request sets its own.
        logs.request_id.set(name)
        logs.current.set(request)
        response = get_response(request)
        response.headers["X-Request-ID"] = name
        return response

    return middleware


class Refusals:
    """Turns refusals that no view caught into pages, and refuses NUL in an address."""

    def __init__(self, get_response: Callable):
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if "%00" in request.META.get("QUERY_STRING", ""):
            return views.bad_request(request, SuspiciousOperation())
        response = self.get_response(request)
        if response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not response.content:
            return views.wrong_method(request, response)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if refusal := views.refusal_of(error):
            return views.refused(request, refusal)
        if views.is_outage(error):
            return views.unavailable_part(request, error)
        return None


def private_by_default(get_response: Handler) -> Handler:
    """Keep every answer out of caches, unless its view or WhiteNoise set another policy."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return middleware


class LoginRequired(LoginRequiredMiddleware):
    """Pages are closed unless marked otherwise; a fragment's request is not sent to the login page.

    Swapping a login form into the middle of a page would throw away what was typed there.
    """

    def process_view(
        self, request: HttpRequest, view_func: Callable, view_args: tuple, view_kwargs: dict
    ) -> HttpResponseBase | None:
        # Before the user is loaded: health answers even while the database does not.
        if not getattr(view_func, "login_required", True):
            return None
        return super().process_view(request, view_func, view_args, view_kwargs)

    # Django's own only ever redirects.
    def handle_no_permission(  # type: ignore[override]
        self, request: HttpRequest, view_func: Callable
    ) -> HttpResponseBase:
        if request.headers.get("HX-Request"):
            sentence = _(
                "You are logged out. Log in again in another tab, then send this once more: "
                "what you wrote is still here."
            )
            return HttpResponse(sentence, status=401, content_type="text/plain; charset=utf-8")
        return super().handle_no_permission(request, view_func)


def persons_language(get_response: Handler) -> Handler:
    """Answer in the language that the logged-in person chose, in whatever browser.

    Others get what LocaleMiddleware found: the cookie's language, or the browser's.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        # Without a session nobody is logged in: programs and probes ask the database nothing here.
        # Health checks run while the database does not answer.
        probe = request.path.startswith("/health/")
        if settings.SESSION_COOKIE_NAME in request.COOKIES and not probe:
            chosen = getattr(request.user, "language", "")
            if chosen in dict(settings.LANGUAGES):
                translation.activate(chosen)
                request.LANGUAGE_CODE = chosen
        return get_response(request)

    return middleware


# Pages of results and releases may read a copy of the database that PostgreSQL streams, which
# ATTUNE_REPLICA_URL names. Who has just changed something, and everybody while the copy does not
# answer or lags, reads the database itself; accounts, sessions and studies are always read there.
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
