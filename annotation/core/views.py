"""Health for machines, and sentences for people when something is refused."""

import logging
import sys
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import RequestDataTooBig, TooManyFilesSent
from django.db import DataError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from kombu.exceptions import OperationalError as BrokerError

from annotation.core import logs, sql, uploads
from annotation.core.errors import DomainError

log = logging.getLogger(__name__)

MEMORY = (redis.RedisError, BrokerError)
RETRY = {"Retry-After": "5"}
# NUL in a text (the driver's word, without SQLSTATE) or in JSON (the server's).
NUL = {None, "22P05"}


def refusal_of(error: BaseException | None) -> DomainError | None:
    """The refusal that ``error`` is, or that a full disk or a NUL byte in a text stands for."""
    if isinstance(error, DataError) and getattr(error.__cause__, "sqlstate", None) in NUL:
        return DomainError(_("Null characters are not allowed."))
    return error if isinstance(error, DomainError) else uploads.full_disk(error)


def is_outage(error: BaseException) -> bool:
    """Whether ``error`` says that database or broker are away."""
    return isinstance(error, MEMORY) or sql.is_outage(error)


def note_outage(error: BaseException) -> None:
    """Log the cause in one line: the class, and of a database's error the SQLSTATE."""
    state = getattr(error.__cause__, "sqlstate", None) or "none"
    part = "database" if sql.is_outage(error) else "redis"
    log.warning("%s unavailable: %s, SQLSTATE %s", part, type(error).__name__, state)


def explained(error: BaseException) -> tuple[str, str]:
    """A title and a sentence for people about a database or broker that does not answer."""
    if sql.is_outage(error):
        title = _("The database is not answering")
        return title, _("Nothing you sent was lost on the way: send it again in a moment.")
    title = _("A part of the server is not answering")
    return title, _("Logging in and joining wait for it; nothing was changed. Try again shortly.")


def _for_probes(view: Callable[[HttpRequest], JsonResponse]) -> Callable:
    """A page of health: open, and to every method it answers in JSON.

    Neither page changes anything, so that a probe which posts needs no form token to be told 405.
    """

    @login_not_required
    @csrf_exempt
    @wraps(view)
    def answer(request: HttpRequest) -> JsonResponse:
        if request.method in ("GET", "HEAD"):
            return view(request)
        words = {"status": "method not allowed"}
        return JsonResponse(words, status=405, headers={"Allow": "GET, HEAD"})

    return answer


@_for_probes
def live(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"status": "alive"})


@_for_probes
def ready(request: HttpRequest) -> JsonResponse:
    """200 when database, migrations and broker serve; else 503 naming the part, nothing more."""
    database = _database()
    parts = {
        "database": database,
        "migrations": database and _migrations(),
        "broker": _broker(),
    }
    status = 200 if all(parts.values()) else 503
    words = {name: "ok" if good else "unavailable" for name, good in parts.items()}
    return JsonResponse(
        {"status": "ready" if status == 200 else "unavailable", **words}, status=status
    )


def _database() -> bool:
    # A connection of its own, whose making has a time limit: one that is open waits without end
    # for a server that is there and does nothing (a paused machine).
    fresh = connection.copy()
    try:
        fresh.ensure_connection()
        return fresh.is_usable()
    except sql.OUTAGES:
        return False
    finally:
        fresh.close()


def _migrations() -> bool:
    try:
        executor = MigrationExecutor(connection)
        return not executor.migration_plan(executor.loader.graph.leaf_nodes())
    except sql.OUTAGES:
        return False


def _broker() -> bool:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2) as client:
            return client.ping()
    except (redis.RedisError, ValueError):
        return False


def problem(
    status: int, code: str, detail: str, headers: dict[str, str] | None = None
) -> JsonResponse:
    """A problem document (RFC 9457) of what was refused before a call of the API was reached."""
    body = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    body |= {"code": code, "detail": detail, "request": logs.request_id.get()}
    kind = "application/problem+json"
    return JsonResponse(body, status=status, headers=headers, content_type=kind)


def _answer(
    request: HttpRequest,
    status: int,
    title: str,
    sentence: str,
    headers: dict[str, str] | None = None,
    static: bool = False,
) -> HttpResponse:
    if request.path.startswith("/api/"):
        code = HTTPStatus(status).phrase.lower().replace(" ", "_")
        return problem(status, code, sentence, headers)
    context = {"title": title, "sentence": sentence, "request_id": logs.request_id.get()}
    if static:  # without the request: no session, no user, no database
        page = render_to_string("core/error_static.html", context)
    else:
        page = render_to_string("core/error.html", context, request)
    return HttpResponse(page, status=status, headers=headers)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, RequestDataTooBig):
        return _answer(request, 413, _("This request is too large"), _("Nothing was changed."))
    sentence = _("Nothing was changed. Open the page again and repeat.")
    if isinstance(exception, TooManyFilesSent):
        most = {"n": settings.DATA_UPLOAD_MAX_NUMBER_FILES}
        sentence = _("Nothing was stored: send at most %(n)d files at once.") % most
    return _answer(request, 400, _("This request cannot be read"), sentence)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    sentence = _("Your role does not include this page.")
    return _answer(request, 403, _("Not for your role"), sentence)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    sentence = _("There is no such page, or it is not yours to see.")
    return _answer(request, 404, _("Nothing here"), sentence)


def wrong_method(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """The page for an address that was opened, but only takes what a form sends."""
    sentence = _("This address only takes what a form sends. Nothing was changed.")
    headers = {"Allow": response.headers["Allow"]}
    return _answer(request, 405, _("Nothing to see here"), sentence, headers)


def refused(request: HttpRequest, refusal: DomainError, static: bool = False) -> HttpResponse:
    """The page of a refusal that the view left to us."""
    title = _("That is not possible")
    return _answer(request, refusal.status, title, refusal.sentence, static=static)


def unavailable_part(request: HttpRequest, error: Exception) -> HttpResponse:
    """503 with Retry-After. The cause is logged in one line.

    Nothing is acknowledged without a commit, so the same request may be sent again.
    """
    note_outage(error)
    response = _answer(request, 503, *explained(error), RETRY, static=True)
    vars(response)["_has_been_logged"] = True  # Django would log it once more, with a traceback
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    """503 while database or broker are away, 507 while the disk is full.

    500 with the request's id for a fault of ours. The page is static: whatever broke must not
    break it too.
    """
    error = sys.exc_info()[1]
    if isinstance(error, Exception) and is_outage(error):
        return unavailable_part(request, error)
    if refusal := refusal_of(error):
        return refused(request, refusal, static=True)
    title, sentence = _("Something broke on our side"), _("It was logged. Nothing was stored.")
    return _answer(request, 500, title, sentence, static=True)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Name the wrong setting: behind a proxy the origin check fails until it is configured."""
    origin = request.headers.get("Origin", "")
    sentence = _("Your browser sent no valid form token. Open the page again and repeat.")
    if origin and origin != settings.BASE_URL:
        sentence = _(
            "The form came from another address than this server's own. If this is its public "
            "address, the operator must set ATTUNE_BASE_URL to it."
        )
    return _answer(request, 403, _("The form was refused"), sentence)
