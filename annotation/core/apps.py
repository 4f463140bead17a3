"""What ``check --deploy`` does not know: mistakes of an installation that would go unnoticed."""

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Tags, Warning, register

Apps = Sequence[AppConfig] | None
SECRET_LENGTH = 50
LOOPBACK = {"127.0.0.1", "localhost", "::1"}
# More proxies of one's own than this in a row is a mistake of counting.
PROXIES = 5


class CoreConfig(AppConfig):
    name = "annotation.core"


@register(Tags.security, deploy=True)
def secrets_are_long(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Sessions and links are signed with these; a fallback must not be weaker than the key."""
    keys = [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]
    if all(len(key) >= SECRET_LENGTH for key in keys):
        return []
    sentence = f"ATTUNE_SECRET_KEY and its fallbacks need {SECRET_LENGTH} characters or more."
    return [Warning(sentence, id="attune.W001")]


@register(Tags.security, deploy=True)
def proxies_are_counted(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """A wrong number lets a client write its own address, and so pass every limit by address."""
    if 0 <= settings.PROXY_COUNT <= PROXIES:
        return []
    sentence = f"ATTUNE_PROXY_COUNT is the number of your own proxies: 0 to {PROXIES}."
    return [Warning(sentence, id="attune.W002")]


@register(Tags.security, deploy=True)
def hosts_are_named(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """A host by wildcard could be anybody's, and links in mails are made of it."""
    if not any(host.startswith(("*", ".")) for host in settings.ALLOWED_HOSTS):
        return []
    return [Warning("ATTUNE_ALLOWED_HOSTS must name hosts, not patterns.", id="attune.W003")]


@register(Tags.security, deploy=True)
def others_come_by_https(app_configs: Apps, **kwargs: Any) -> list[CheckMessage]:
    """Plain HTTP is for the machine itself: elsewhere passwords and sessions could be read."""
    address = urlsplit(settings.BASE_URL)
    if address.scheme == "https" or address.hostname in LOOPBACK:
        return []
    return [Warning("ATTUNE_BASE_URL must begin with https://.", id="attune.W004")]
