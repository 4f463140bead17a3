"""What happens to every request: its id, refusals, log-in, language and caches."""

import re
import uuid
from collections.abc import Callable
from http import HTTPStatus

from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.core import logs, unavailable, uploads, views
from annotation.core.errors import DomainError

Answer = Callable[[HttpRequest], HttpResponseBase]
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"


def request_id(get_response: Callable) -> Callable:
    """Give each request an id, the client's or a proxy's where it sent one, and return it.

    Every line that is logged meanwhile carries it.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
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
        refusal = error if isinstance(error, DomainError) else uploads.full_disk(error)
        if refusal:
            return views.refused(request, refusal)
        if isinstance(error, unavailable.ALL):
            return views.unavailable_part(request, error)
        return None


def private_by_default(get_response: Answer) -> Answer:
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


def persons_language(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Answer in the language that the logged-in person chose, in whatever browser.

    Others get what LocaleMiddleware found: the cookie's language, or the browser's.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
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
