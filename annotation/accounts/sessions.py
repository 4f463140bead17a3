"""Where one is logged in: sessions, the browsers that one used before, and tokens left over.

allauth notes each log-in's session. A browser from which somebody logged in keeps a signed cookie:
attempts from it are counted apart, so strangers who guess do not lock its person out, and a log-in
from a browser without it is told to the account's owner.
"""

import secrets
import time
from collections.abc import Callable

from allauth.account.adapter import get_adapter
from allauth.account.signals import password_changed, password_reset, password_set
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.core import signing
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.accounts.models import User
from annotation.core import audit

SALT = "attune browser"
COOKIE_SECONDS = 365 * 86_400
# A computer room's browser serves many; the newest are remembered.
PEOPLE = 20
SEEN = "seen"
SEEN_SECONDS = 300
# Edge and Opera also call themselves Chrome, and Chrome Safari: the first counts.
BROWSERS = {"Edg": "Edge", "OPR": "Opera"} | {
    name: name for name in ("Firefox", "Chrome", "Safari", "curl", "python")
}
SYSTEMS = {name: name for name in ("iPhone", "iPad", "Android", "Windows", "Linux")} | {
    "Mac OS X": "macOS",
    "CrOS": "ChromeOS",
}


def describe(user_agent: str) -> str:
    """A browser in words, such as "Firefox, Linux"; what it sent where that says neither."""
    words = [
        next((name for sign, name in names.items() if sign in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    ]
    return ", ".join(filter(None, words)) or user_agent[:60] or "–"


def active(user: User) -> list[UserSession]:
    """The sessions in which ``user`` is logged in, the one last used first."""
    rows = UserSession.objects.purge_and_list(user)
    return sorted(rows, key=lambda row: row.last_seen_at, reverse=True)


@transaction.atomic
def end(user: User, rows: list[UserSession]) -> int:
    for row in rows:
        row.end()
    if rows:
        audit.record(user, "session.end", user, ended=len(rows))
    return len(rows)


@transaction.atomic
def revoke_tokens(user: User) -> int:
    count = user.tokens.filter(revoked_at=None).update(revoked_at=timezone.now())
    audit.record(user, "token.revoke", user, revoked=count)
    return count


def note_use(get_response: Callable) -> Callable:
    """Middleware: note now and then that a session of a log-in is used, and from where."""

    def middleware(request: HttpRequest) -> HttpResponse:
        # Health checks run while the database does not answer.
        is_probe = request.path.startswith("/health/")
        if settings.SESSION_COOKIE_NAME in request.COOKIES and not is_probe:
            seen = request.session.get(SEEN)
            if seen and time.time() - seen > SEEN_SECONDS and request.user.is_authenticated:
                request.session[SEEN] = time.time()
                UserSession.objects.create_from_request(request)
        return get_response(request)

    return middleware


def logged_in(request: HttpRequest, response: HttpResponse, user: User, *, signup: bool) -> None:
    """Remember the browser for ``user``, and tell them where it is one they never used."""
    request.session[SEEN] = time.time()
    name, people = _browser(request)
    if user.pk not in people and not signup:
        context = {"browser": describe(request.META.get("HTTP_USER_AGENT", ""))}
        get_adapter(request).send_notification_mail("account/email/new_browser", user, context)
    people = [user.pk, *(pk for pk in people if pk != user.pk)][:PEOPLE]
    response.set_cookie(
        settings.BROWSER_COOKIE_NAME,
        signing.dumps([name, people], salt=SALT),
        max_age=COOKIE_SECONDS,
        secure=settings.HTTPS,
        httponly=True,
        samesite="Lax",
    )


def browser_of(request: HttpRequest, login: str) -> str:
    """The name of this browser where the account ``login`` was opened in it, or ""."""
    name, people = _browser(request)
    if people and User.objects.filter(pk__in=people, email__iexact=login).exists():
        return name
    return ""


def _browser(request: HttpRequest) -> tuple[str, list[int]]:
    try:
        cookie = request.COOKIES.get(settings.BROWSER_COOKIE_NAME, "")
        name, people = signing.loads(cookie, salt=SALT, max_age=COOKIE_SECONDS)
    except signing.BadSignature:
        return secrets.token_hex(8), []
    return name, people


@receiver([password_changed, password_set, password_reset])
def ask_about_tokens(
    sender: type[User], request: HttpRequest, user: User, **kwargs: object
) -> None:
    """A new password ends other sessions by itself; tokens are the person's to decide about."""
    audit.record(user, "password.change", user)
    sentence = _("You are logged out everywhere else.")
    if count := user.tokens.filter(revoked_at=None).count():
        tokens = ngettext(
            "One API token still works: revoke it unless you know it.",
            "%(n)d API tokens still work: revoke those you do not know.",
            count,
        )
        sentence += " " + tokens % {"n": count}
    messages.warning(request, sentence)
