"""Who may open an account, and who needs a second factor.

Whoever holds an invitation or a join code that is still valid may open an account.
"""

from collections.abc import Callable

from allauth.mfa.models import Authenticator
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from annotation import policies
from annotation.accounts.adapter import Accounts
from annotation.accounts.models import User
from annotation.core.errors import NotFound
from annotation.core.views import problem
from annotation.studies import members
from annotation.studies.access import memberships_of
from annotation.studies.models import Invitation, JoinCode

# In the session: what the person came by, as ["invitation" or "code", its number].
INVITED = "invited"
# Addresses needed to set up a second factor, or to log out.
OPEN = {
    *("mfa_index", "mfa_activate_totp", "totp-picture", "mfa_reauthenticate"),
    *("mfa_list_webauthn", "mfa_add_webauthn", "mfa_reauthenticate_webauthn"),
    *("account_reauthenticate", "account_logout", "language", "live", "ready"),
}


class InvitedOnly(Accounts):
    """Sign-up is open as long as the invitation or code in the session stands."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return invited_by(request) is not None


class LogInServer(DefaultSocialAccountAdapter):
    """Whom the organisation's log-in server sends: who has an account, or comes by invitation."""

    def list_apps(
        self, request: HttpRequest, provider: str | None = None, client_id: str | None = None
    ) -> list:
        """The one of the settings: no row of the database can name a log-in server."""
        from allauth.socialaccount.models import SocialApp

        configured: list[dict] = settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"]
        apps = [SocialApp(provider="openid_connect", **values) for values in configured]
        return [
            app
            for app in apps
            if provider in (None, app.provider, app.provider_id)
            and client_id in (None, app.client_id)
        ]

    def is_open_for_signup(self, request: HttpRequest, sociallogin: SocialLogin) -> bool:
        return settings.OIDC_OPENS_ACCOUNTS or InvitedOnly(request).is_open_for_signup(request)

    def authenticate_by_email(self, sociallogin: SocialLogin) -> tuple[User, str] | None:
        """The account whose log-in name is an address that the server confirmed.

        Only a plain `true` confirms it: some servers send the text "false".
        """
        for address in sociallogin.email_addresses:
            address.verified = address.verified is True
            user = User.objects.filter(email__iexact=address.email).first()
            if address.verified and user:
                return user, address.email
        return None

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict) -> User:
        """The name is one field here."""
        user = super().populate_user(request, sociallogin, data)
        user.name = str(data.get("name") or "")[:120]
        return user


def invited_by(request: HttpRequest) -> Invitation | JoinCode | None:
    """What this browser may open an account by, as long as that stands."""
    kind, pk = request.session.get(INVITED) or ("", 0)
    try:
        if kind == "invitation":
            return members.valid_invitation(pk=pk)
        return members.valid_code(pk=pk) if kind == "code" else None
    except NotFound:
        return None


def admit(request: HttpRequest, pass_: Invitation | JoinCode) -> None:
    """Let this browser open an account by an invitation or a join code.

    An invitation that was mailed proves that its address is read by whoever holds the link.
    """
    if isinstance(pass_, JoinCode):
        request.session[INVITED] = ["code", pass_.pk]
        return
    request.session[INVITED] = ["invitation", pass_.pk]
    if pass_.mailed_at:
        InvitedOnly(request).stash_verified_email(request, pass_.email)


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
