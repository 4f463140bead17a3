"""Log-in through the organisation's OpenID Connect server: allauth's two views, with its faults."""

import logging
from collections.abc import Callable

import requests
from allauth.socialaccount.providers.openid_connect import views as openid
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from annotation.core.errors import DomainError

log = logging.getLogger(__name__)
# What comes of a server that is away, or answers something else than it should.
FAULTS = (requests.RequestException, KeyError, TypeError, ValueError, AttributeError)


def _guarded(view: Callable[..., HttpResponse], request: HttpRequest, name: str) -> HttpResponse:
    try:
        return view(request, name)
    except FAULTS as error:
        log.warning("log-in server: %s", type(error).__name__)
        sentence = _("The log-in server does not answer as it should. Try again later.")
        raise DomainError(sentence, code="log_in_server", status=503) from error


@login_not_required
def log_in(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Ask whether to go on (GET), then lead to the log-in server."""
    return _guarded(openid.login, request, provider_id)


@login_not_required
def come_back(request: HttpRequest, provider_id: str) -> HttpResponse:
    """Where the log-in server leads back to."""
    return _guarded(openid.callback, request, provider_id)
