"""What ``check --deploy`` does not know: mistakes of an installation that would go unnoticed."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import Tags, Warning, register

SECRET_LENGTH = 50
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
# More proxies of one's own than this in a row is a mistake of counting.
PROXIES = 5


class CoreConfig(AppConfig):
    name = "annotation.core"


@register(Tags.security, deploy=True)
def check_installation(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[Warning]:
    """Warnings of settings by which others could read, guess or pretend."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    address = urlsplit(settings.BASE_URL)
    faults = [
        # Sessions and links are signed with these; a fallback must not be weaker than the key.
        (
            any(len(key) < SECRET_LENGTH for key in keys),
            f"ATTUNE_SECRET_KEY and its fallbacks need {SECRET_LENGTH} characters or more.",
        ),
        # A wrong number lets a client write its own address, and so pass every limit by address.
        (
            not 0 <= settings.PROXY_COUNT <= PROXIES,
            f"ATTUNE_PROXY_COUNT is the number of your own proxies: 0 to {PROXIES}.",
        ),
        # A host by wildcard could be anybody's, and links in mails are made of it.
        (
            any(host.startswith(("*", ".")) for host in settings.ALLOWED_HOSTS),
            "ATTUNE_ALLOWED_HOSTS must name hosts, not patterns.",
        ),
        # Plain HTTP is for the machine itself: elsewhere passwords and sessions could be read.
        (
            address.scheme != "https" and address.hostname not in LOOPBACK,
            "ATTUNE_BASE_URL must begin with https://.",
        ),
    ]
    return [
        Warning(sentence, id=f"attune.W{number:03}")
        for number, (is_wrong, sentence) in enumerate(faults, 1)
        if is_wrong
    ]
