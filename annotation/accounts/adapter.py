"""What allauth asks of this project: mails, addresses, second factors."""

import base64
import hashlib
from types import SimpleNamespace
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.models import EmailConfirmationHMAC
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme


class Accounts(DefaultAccountAdapter):
    """Accounts whose mails name the server's own address, whatever Host a request claims."""

    def is_safe_url(self, url: str | None) -> bool:
        """Only addresses of this server: allauth would also trust other allowed hosts."""
        hosts = {self.request.get_host()} if self.request else set()
        return url_has_allowed_host_and_scheme(url, allowed_hosts=hosts)

    def send_mail(self, template_prefix: str, email: str, context: dict) -> None:
        site = SimpleNamespace(domain=urlsplit(settings.BASE_URL).netloc)
        super().send_mail(template_prefix, email, {**context, "current_site": site})

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
