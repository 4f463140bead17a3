import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation import policies


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        """Make an account; without a password nobody can log in to it until one is set."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save()
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_superuser=True, **fields)

    def get_by_natural_key(self, email: str | None) -> "User":
        return self.get(email__iexact=email)


class User(AbstractBaseUser, PermissionsMixin):
    """A person. Imported workers are people too, without an address and unable to log in."""

    email = models.EmailField(_("e-mail"), unique=True, null=True)  # noqa: DJ001 - many have none
    name = models.CharField(_("name"), max_length=120, blank=True)
    # "<study>:<worker>" of a votes file: the same worker is the same person within a study.
    worker = models.CharField(max_length=200, unique=True, null=True)  # noqa: DJ001
    # The language chosen for the pages; empty: what the browser asks for.
    language = models.CharField(max_length=10, blank=True)
    # Codes of the languages that the person reads; null: not asked yet.
    reads = models.JSONField(null=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = UserManager()
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = []

    class Meta:
        constraints = [models.UniqueConstraint(Lower("email"), name="user_email_in_any_case")]

    def __str__(self) -> str:
        return self.name or self.email or self.worker or f"user {self.pk}"


def all_scopes() -> list[str]:
    """What a token may do unless it is limited."""
    return list(ApiToken.SCOPES)


class ApiToken(models.Model):
    """A key to the API, stored as a digest: the key itself is shown once.

    It acts for its person, within ``scopes`` and, where ``study`` is set, in that study alone.
    """

    SCOPES = {
        "read": _("read"),
        "judge": _("judge"),
        "history": _("read and change one's own history"),
        "curate": _("add, generate, open, release"),
        "admin": _("studies and people"),
    }

    # Whom a scope is of use to; the others are everybody's.
    NEEDS = {
        "judge": policies.judgment.may_give,
        "curate": policies.release.may_freeze,
        "admin": policies.study.may_create,
    }

    LONGEST_DAYS = 3650

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=8)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)
    scopes = models.JSONField(default=all_scopes)
    study = models.ForeignKey(
        "studies.Study", on_delete=models.CASCADE, null=True, related_name="+"
    )

    @staticmethod
    def digest_of(key: str) -> str:
        # A random 256-bit key needs no slow hash: it cannot be guessed from its digest.
        return hashlib.sha256(key.encode()).hexdigest()

    @classmethod
    def studies_of(cls, user: User) -> Any:
        """The studies that a token of ``user`` may be limited to."""
        study: Any = cls._meta.get_field("study").related_model
        return study.objects.visible_to(user)

    @classmethod
    def scopes_of(cls, user: Any) -> list[tuple[str, Any]]:
        """The scopes, with their words, that the roles of ``user`` have a use for."""
        roles = user.memberships.filter(left_at=None).values_list("role", flat=True).distinct()
        stands = [policies.Member(role, user.is_superuser) for role in (None, *roles)]
        return [
            (name, words)
            for name, words in cls.SCOPES.items()
            if name not in cls.NEEDS or any(map(cls.NEEDS[name], stands))
        ]

    @classmethod
    def issue(
        cls,
        user: User,
        days: int | None = None,
        *,
        scopes: Iterable[str] = (),
        study: models.Model | None = None,
    ) -> tuple["ApiToken", str]:
        """Make a token for ``user``, valid ``days`` days (None: until revoked), and its key.

        ``scopes`` are some of SCOPES (none named: all), ``study`` limits it to one study.
        """
        key = "att_" + secrets.token_urlsafe(32)
        token = cls.objects.create(
            user=user,
            digest=cls.digest_of(key),
            hint=key[:8],
            expires_at=timezone.now() + timedelta(days=days) if days else None,
            scopes=list(scopes) or all_scopes(),
            study=study,
        )
        return token, key


class ConsentText(models.Model):
    """One version of what people agree to. Texts are never edited: a change is a new version."""

    name = models.CharField(max_length=80)
    version = models.PositiveIntegerField()
    body = models.TextField()
    # {language: body}: part of the version like the body itself.
    translations = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["name", "version"], name="consent_version")]

    def __str__(self) -> str:
        return f"{self.name} v{self.version}"


class Consent(models.Model):
    """A person's agreement to one version, until withdrawn."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="consents")
    text = models.ForeignKey(ConsentText, on_delete=models.PROTECT, related_name="consents")
    granted_at = models.DateTimeField(auto_now_add=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "text"],
                condition=models.Q(withdrawn_at=None),
                name="one_standing_consent",
            )
        ]
