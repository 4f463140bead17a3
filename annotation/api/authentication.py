"""None"""

from typing import TYPE_CHECKING

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request

from annotation.accounts.models import ApiToken, User
from annotation.core.errors import DomainError

if TYPE_CHECKING:
    # It reads the settings of DRF, which name this module.
    from drf_spectacular.openapi import AutoSchema
from typing import TYPE_CHECKING

from rest_framework.permissions import BasePermission

if TYPE_CHECKING:
    # It reads the settings of DRF, which name this module.
    from rest_framework.views import APIView


# Calls that are not about a study.
ANY_STUDY = {"api-root", "api-schema"}


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer KEY`` (or ``Token KEY``) with a key from the tokens page."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
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


def _check_limits(token: ApiToken, request: Request) -> None:
    """DomainError where the call is outside the token's scopes or study.

    A call that changes something is of its view's ``scope``, "curate" where it names none.
    """
    view = request.parser_context["view"]
    needed = "read" if request.method in SAFE_METHODS else getattr(view, "scope", "curate")
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
