"""What `manage.py check` says of ATTUNE_ENDPOINTS, before anything is called."""

from typing import Any
from urllib.parse import urlsplit

from django.core import checks

from annotation.candidates import endpoints

LOOPBACK = {"127.0.0.1", "localhost", "::1"}


@checks.register
def endpoints_can_be_used(app_configs: object, **kwargs: Any) -> list:
    """An error where the configuration is wrong, a warning where a key would travel unencrypted."""
    try:
        configured = endpoints.all()
    except endpoints.EndpointsWrong as wrong:
        hint = "Each is an object with name, base_url, model, and mostly api_key."
        return [checks.Error(str(wrong), hint=hint, id="candidates.E001")]
    return [
        checks.Warning(
            f"Endpoint {endpoint.name} would get its key over plain HTTP.",
            hint="Use https://, or a server on this machine.",
            id="candidates.W001",
        )
        for endpoint in configured
        if endpoint.api_key and _is_exposed(endpoint.base_url)
    ]


def _is_exposed(base_url: str) -> bool:
    parts = urlsplit(base_url)
    return parts.scheme == "http" and parts.hostname not in LOOPBACK
