from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation


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
