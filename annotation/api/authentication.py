"""Who calls the API: the holder of a token, or of a session; how often, and what for."""

import logging
import time
from typing import TYPE_CHECKING

from allauth.core.internal.ratelimit import get_ip
from django.conf import settings
from django.core.cache import cache
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from annotation.accounts.models import ApiToken, User
from annotation.core import views
from annotation.core.errors import DomainError

if TYPE_CHECKING:
    # They read the settings of DRF, which name this module.
    from drf_spectacular.openapi import AutoSchema
    from rest_framework.views import APIView

log = logging.getLogger(__name__)
# Calls that are not about a study.
ANY_STUDY = {"api-root", "api-schema"}


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer KEY`` (or ``Token KEY``) with a key from the tokens page."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        _count("address", get_ip(request), settings.API_ADDRESS_RATE)
        scheme, _, key = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() not in {"bearer", "token"}:
            return None
        token = (
            ApiToken.objects.select_related("user", "study")
            .filter(Q(expires_at=None) | Q(expires_at__gt=Now()), revoked_at=None)
            .filter(digest=ApiToken.digest_of(key.strip()), user__is_active=True)
            .first()
        )
        if token is None:
            raise AuthenticationFailed("This token is not valid.")
        _count("token", token.pk, settings.API_TOKEN_RATE)
        _check_limits(token, request)
        self._note_use(token)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"

    def _note_use(self, token: ApiToken) -> None:
        # To the minute: not every call of a busy script needs a write.
        now = timezone.now()
        if token.last_used_at is None or (now - token.last_used_at).total_seconds() > 60:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


def _count(kind: str, name: object, rate: int) -> None:
    """Throttled once more than ``rate`` calls of this token or address came within a minute."""
    if not rate:
        return
    minute, second = divmod(time.time(), 60)
    key = f"api:{kind}:{name}:{minute:.0f}"
    try:
        cache.add(key, 0, timeout=120)
        count = cache.incr(key)
    except (*views.MEMORY, ValueError) as error:
        # The limit is no reason to lose judgments while the cache is away.
        log.warning("calls are not counted: %s", type(error).__name__)
        return
    if count > rate:
        raise Throttled(60 - second, f"More than {rate} calls a minute from this {kind}.")


def _check_limits(token: ApiToken, request: Request) -> None:
    """DomainError where the call is outside the token's scopes or study.

    A call that changes something is of its view's ``scope``, "curate" where it names none; one that
    reads is "read" unless the view has ``reads``.
    """
    view = request.parser_context["view"]
    reads = request.method in SAFE_METHODS
    needed = getattr(view, "reads", "read") if reads else getattr(view, "scope", "curate")
    if needed not in token.scopes:
        sentence = f"This token may not “{needed}”: make one with that scope."
        raise DomainError(sentence, code="scope", status=403)
    if token.study is None or request.resolver_match.url_name in ANY_STUDY:
        return
    slug = view.kwargs.get("slug") or getattr(view, "slug_of", lambda **_: None)(**view.kwargs)
    if slug != token.study.slug:
        sentence = f"This token is for the study “{token.study.slug}” alone."
        raise DomainError(sentence, code="scope", status=403)


class TokenScheme(OpenApiAuthenticationExtension):
    """How the schema describes the class above."""

    target_class = "annotation.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: "AutoSchema") -> dict:
        return {"type": "http", "scheme": "bearer"}


class Nobody(BasePermission):
    """The default: a view must declare who may call it."""

    def has_permission(self, request: Request, view: "APIView") -> bool:
        return False
