import base64
import hashlib

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, MultiFernet
from django.conf import settings
from django.utils.http import url_has_allowed_host_and_scheme

INVITED = "invited"


class InvitedOnly(DefaultAccountAdapter):
    """Accounts are opened by invitation: the link puts ``INVITED`` into the session."""

    def is_open_for_signup(self, request) -> bool:
        return bool(request.session.get(INVITED))

    def is_safe_url(self, url) -> bool:
        """Only addresses of this server: allauth would also trust other allowed hosts."""
        host = self.request.get_host() if self.request else None
        return url_has_allowed_host_and_scheme(url, allowed_hosts={host})


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
