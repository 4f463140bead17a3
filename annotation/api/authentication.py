from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import AuthenticationFailed

from annotation.accounts.models import ApiToken


class TokenAuthentication(BaseAuthentication):
    """``Authorization: Bearer KEY`` (or ``Token KEY``) with a key from the tokens page."""

    def authenticate(self, request):
        scheme, _, key = get_authorization_header(request).decode("latin-1").partition(" ")
        if scheme.lower() not in {"bearer", "token"}:
            return None
        token = (
            ApiToken.objects.select_related("user")
            .filter(Q(expires_at=None) | Q(expires_at__gt=Now()), revoked_at=None)
            .filter(digest=ApiToken.digest_of(key.strip()), user__is_active=True)
            .first()
        )
        if token is None:
            raise AuthenticationFailed("This token is not valid.")
        self._note_use(token)
        return token.user, token

    def authenticate_header(self, request):
        return "Bearer"

    def _note_use(self, token):
        # To the minute: not every call of a busy script needs a write.
        now = timezone.now()
        if token.last_used_at is None or (now - token.last_used_at).total_seconds() > 60:
            ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)


class TokenScheme(OpenApiAuthenticationExtension):
    """How the schema describes the class above."""

    target_class = "annotation.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema):
        return {"type": "http", "scheme": "bearer"}
