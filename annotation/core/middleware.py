from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.http import HttpResponse
from django.utils.translation import gettext as _

PERMISSIONS = "camera=(), geolocation=(), microphone=(), payment=(), usb=(), browsing-topics=()"


def private_by_default(get_response):
    """Keep every answer out of caches, unless its view or WhiteNoise said otherwise."""

    def middleware(request):
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("Permissions-Policy", PERMISSIONS)
        return response

    return middleware


class LoginRequired(LoginRequiredMiddleware):
    """Pages are closed unless marked otherwise; a fragment's request is not sent to the login page.

    Swapping a login form into the middle of a page would throw away what was typed there.
    """

    def handle_no_permission(self, request, view_func):
        if request.headers.get("HX-Request"):
            sentence = _(
                "You are logged out. Log in again in another tab, then send this once more: "
                "what you wrote is still here."
            )
            return HttpResponse(sentence, status=401, content_type="text/plain; charset=utf-8")
        return super().handle_no_permission(request, view_func)
