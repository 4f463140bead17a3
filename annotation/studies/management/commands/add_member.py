import json
import sys
from typing import Any

from allauth.account.models import EmailAddress
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.core.validators import validate_email
from django.db import transaction

from annotation.accounts import consent
from annotation.accounts.models import User
from annotation.core import audit
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Membership, Role, Study


class Command(StudyCommand):
    help = (
        "Give accounts a role in a study; an account is made where there is none. A second call "
        "changes nothing. Without a password, the person sets one through “Forgot your password?”."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "email", metavar="EMAIL", nargs="+", help="address of an account; several may be given"
        )
        parser.add_argument("--role", required=True, choices=Role.values)
        parser.add_argument(
            "--password-stdin", action="store_true", help="read the account's password from stdin"
        )
        parser.add_argument(
            "--consented",
            action="store_true",
            help="record that the person has agreed to the study's consent text (on paper, say)",
        )

    def handle(self, *args: Any, study: Study, email: str, role: str, **options: Any) -> None:
        """Make or find each account, and set its role; all of them or none."""
        password = sys.stdin.readline().rstrip("\r\n") if options["password_stdin"] else None
        users = []
        with transaction.atomic():
            for address in email if isinstance(email, list) else [email]:
                user = _account(address.strip().lower(), password)
                _join(study, user, role)
                if options["consented"] and study.consent_text:
                    consent.grant(user, study.consent_text)
                users.append(user)
        members = [{"user": user.email, "study": study.slug, "role": role} for user in users]
        words = "\n".join(f"{user.email} is {role} of {study.slug}" for user in users)
        document = members[0] if len(members) == 1 else {"members": members}
        self.stdout.write(json.dumps(document) if options["json"] else words)


def _account(email: str, password: str | None) -> User:
    try:
        validate_email(email)
    except ValidationError as error:
        raise CommandError(f"“{email}” is no e-mail address.") from error
    user = User.objects.filter(email__iexact=email).first()
    if user and not user.is_active:
        raise CommandError(f"The account {email} is closed.")
    if password is not None and not (user and user.check_password(password)):
        try:
            validate_password(password, user or User(email=email))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        if user:
            user.set_password(password)
            user.save(update_fields=["password"])
    if user is None:
        user = User.objects.create_user(email, password)
        # Whoever runs this command vouches for the address.
        EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    return user


def _join(study: Study, user: User, role: str) -> None:
    membership, made = Membership.objects.get_or_create(
        study=study, user=user, defaults={"role": role}
    )
    if made or membership.role != role or membership.left_at:
        membership.role, membership.left_at = role, None
        membership.save(update_fields=["role", "left_at"])
        audit.record(None, "member.add", membership, study=study.pk, user=user.pk, role=role)
