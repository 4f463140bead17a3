from collections.abc import Callable

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation import policies
from annotation.accounts.models import User
from annotation.core.views import problem
from annotation.studies.access import memberships_of

# Addresses needed to set up a second factor, or to log out.
OPEN = {
    *("mfa_index", "mfa_activate_totp", "totp-picture", "mfa_reauthenticate"),
    *("mfa_list_webauthn", "mfa_add_webauthn", "mfa_reauthenticate_webauthn"),
    *("account_reauthenticate", "account_logout", "language", "live", "ready"),
}


class SecondFactor:
    """Where ATTUNE_REQUIRE_MFA is set, staff without a second factor reach only its set-up."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(
        self, request: HttpRequest, view_func: Callable, args: tuple, kwargs: dict
    ) -> HttpResponse | None:
        """Let the view answer (None), or send the person to the set-up page."""
        if not settings.REQUIRE_MFA or request.resolver_match is None:
            return None
        if request.resolver_match.view_name in OPEN:
            return None
        # Programs carry a token, which a person with a second factor made.
        if settings.SESSION_COOKIE_NAME not in request.COOKIES or not _lacks_factor(request.user):
            return None
        page = f"{reverse('mfa_activate_totp')}?required=1"
        if request.path.startswith("/api/"):
            sentence = _("Set up a second factor first")
            return problem(403, "second_factor", sentence)
        if request.headers.get("HX-Request"):
            return HttpResponse(headers={"HX-Redirect": page})
        return redirect(page)


def _lacks_factor(user: User | AnonymousUser) -> bool:
    if not user.is_authenticated:
        return False
    staff = not all(map(policies.member.may_lack_second_factor, memberships_of(user)))
    factors = Authenticator.objects.filter(user=user, type__in=("totp", "webauthn"))
    return staff and not factors.exists()
