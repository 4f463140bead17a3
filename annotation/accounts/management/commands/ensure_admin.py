"""`manage.py ensure_admin`: what makes the first log-in possible, without a default password."""

from typing import Any

import environ
from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from django.conf import settings
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError
from django.core.validators import validate_email
from django.db import transaction
from django.db.models import Q
from django.urls import reverse

from annotation.accounts.models import User
from annotation.core import audit

env = environ.FileAwareEnv()
DEFAULT_EMAIL = "admin@example.org"


class Command(BaseCommand):
    help = (
        "As long as no administrator can log in, make the one of ATTUNE_ADMIN_EMAIL and "
        "ATTUNE_ADMIN_PASSWORD; without a password, print a link that sets one, once."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the account; print the link where nobody could log in otherwise."""
        email = _setting("ATTUNE_ADMIN_EMAIL").strip().lower()
        password = _setting("ATTUNE_ADMIN_PASSWORD")
        if password and not email:
            raise CommandError("ATTUNE_ADMIN_PASSWORD is set, ATTUNE_ADMIN_EMAIL is not.")
        # Somebody who was made an annotator, or closed, must not come back with the next start.
        if User.objects.filter(_HAS_PASSWORD, is_superuser=True, is_active=True).exists():
            if email and not User.objects.filter(email__iexact=email, is_superuser=True).exists():
                self.stderr.write(f"There is an administrator already: {email} was not made one.")
            return
        with transaction.atomic():
            user = _administrator(email) if email else _waiting() or _administrator(DEFAULT_EMAIL)
            if password:
                _set_password(user, password)
                return
        self.stdout.write(f"Set the password of {user.email} (this link works once): {_link(user)}")


# Django marks a password that nobody has set with an exclamation mark.
_HAS_PASSWORD = ~Q(password__startswith="!") & ~Q(password="")  # noqa: S106 - no password


def _setting(name: str) -> str:
    """The variable, or what the file of NAME_FILE holds without the line end of an editor."""
    try:
        return env.str(name, "").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"The file of {name}_FILE cannot be read: {error}") from error


def _waiting() -> User | None:
    """The administrator of an earlier call whose link has not been used."""
    return User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()


def _administrator(email: str) -> User:
    """The administrator of this address, made where missing."""
    try:
        validate_email(email)
    except ValidationError as error:
        raise CommandError(f"ATTUNE_ADMIN_EMAIL is “{email}”: no e-mail address.") from error
    user = User.objects.filter(email__iexact=email).first()
    if user is None:
        user = User.objects.create_superuser(email)
        EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
        audit.record(None, "admin.make", user)
    elif not (user.is_superuser and user.is_active):
        user.is_superuser = user.is_active = True
        user.save(update_fields=["is_superuser", "is_active"])
        audit.record(None, "admin.make", user)
    return user


def _set_password(user: User, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        sentence = " ".join(error.messages)
        raise CommandError(f"ATTUNE_ADMIN_PASSWORD is refused: {sentence}") from error
    user.set_password(password)
    user.save(update_fields=["password"])


def _link(user: User) -> str:
    """allauth's own password-reset link: dead as soon as a password has been set."""
    key = default_token_generator.make_token(user)
    path = reverse(
        "account_reset_password_from_key",
        kwargs={"uidb36": user_pk_to_url_str(user), "key": key},
    )
    return f"{settings.BASE_URL}{path}"
