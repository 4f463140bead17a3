"""What allauth asks of this project: mails, addresses, second factors."""

import base64
import hashlib
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter, get_adapter
from allauth.account.models import EmailAddress, EmailConfirmationHMAC
from allauth.account.signals import email_added, email_removed
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme

from annotation.accounts import sessions
from annotation.accounts.models import User
from annotation.core import audit


class Accounts(DefaultAccountAdapter):
    """Accounts whose mails name the server's own address, whatever Host a request claims."""

    def is_safe_url(self, url: str | None) -> bool:
        """Only addresses of this server: allauth would also trust other allowed hosts."""
        hosts = {self.request.get_host()} if self.request else set()
        return url_has_allowed_host_and_scheme(url, allowed_hosts=hosts)

    def send_mail(self, template_prefix: str, email: str, context: dict) -> None:
        site = SimpleNamespace(domain=urlsplit(settings.BASE_URL).netloc)
        super().send_mail(template_prefix, email, {**context, "current_site": site})

    def post_login(self, request: HttpRequest, user: User, **kwargs: Any) -> HttpResponse:
        response = super().post_login(request, user, **kwargs)
        sessions.logged_in(request, response, user, signup=bool(kwargs.get("signup")))
        return response

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        """Attempts are counted by account, and apart in a browser that opened it before."""
        key = super()._get_login_attempts_cache_key(request, **credentials)
        browser = sessions.browser_of(request, credentials.get("email", ""))
        return f"{key}:{browser}" if browser else key

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        if cast(User, request.user).tokens.filter(revoked_at=None).exists():
            return reverse("tokens")
        return super().get_password_change_redirect_url(request)

    def get_reset_password_from_key_url(self, key: str) -> str:
        uid, _, token = key.partition("-")
        path = reverse("account_reset_password_from_key", kwargs={"uidb36": uid, "key": token})
        return f"{settings.BASE_URL}{path}"

    def get_email_confirmation_url(
        self, request: HttpRequest, emailconfirmation: EmailConfirmationHMAC
    ) -> str:
        path = reverse("account_confirm_email", args=[emailconfirmation.key])
        return f"{settings.BASE_URL}{path}"


class SealedSecrets(DefaultMFAAdapter):
    """Keeps the secrets of second factors sealed: the database alone opens no account.

    They are sealed under ATTUNE_SECRET_KEY and opened under its fallbacks too.
    """

    def encrypt(self, text: str) -> str:
        return _seals().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        return _seals().decrypt(encrypted_text.encode()).decode()


def _seals() -> MultiFernet:
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    # A key of its own for this purpose, from a secret that is random already.
    digests = (hashlib.sha256(b"attune second factor:" + key.encode()).digest() for key in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(digest)) for digest in digests])


@receiver(email_added)
def tell_of_added(
    sender: type[EmailAddress],
    request: HttpRequest,
    user: User,
    email_address: EmailAddress,
    **kwargs: Any,
) -> None:
    context = {"added_email": email_address.email}
    get_adapter(request).send_notification_mail("account/email/email_added", user, context)
    audit.record(user, "email.add", user)


@receiver(email_removed)
def tell_of_removed(
    sender: type[EmailAddress],
    request: HttpRequest,
    user: User,
    email_address: EmailAddress,
    **kwargs: Any,
) -> None:
    """The removed address learns of it too: allauth tells the primary one."""
    if email_address.verified:
        context = {"deleted_email": email_address.email}
        get_adapter(request).send_notification_mail(
            "account/email/email_deleted", user, context, email=email_address.email
        )
    audit.record(user, "email.remove", user)
