"""`manage.py make_token EMAIL...`"""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from annotation.accounts.models import ApiToken, User
from annotation.core import audit


class Command(BaseCommand):
    help = (
        "Print a new API token of each account, one a line. It is shown this once and stored as a "
        "digest."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL", nargs="+", help="address of an account")
        parser.add_argument(
            "--days", type=days, metavar="N", help="how long it works (default: until revoked)"
        )
        parser.add_argument(
            "--scope",
            action="append",
            choices=list(ApiToken.SCOPES),
            default=[],
            help="what it may do; repeat for several (default: everything its person may)",
        )

    def handle(self, *args: Any, email: str, days: int, scope: list[str], **options: Any) -> None:
        """Print the tokens alone, in the accounts' order; none where an account is missing."""
        keys = []
        with transaction.atomic():
            for address in email if isinstance(email, list) else [email]:
                user = User.objects.filter(email__iexact=address.strip(), is_active=True).first()
                if user is None:
                    raise CommandError(f"There is no account {address}.")
                token, key = ApiToken.issue(user, days, scopes=scope)
                audit.record(None, "token.make", token, user=user.pk)
                keys.append(key)
        self.stdout.write("\n".join(keys))


def days(text: str) -> int:
    longest = ApiToken.LONGEST_DAYS
    if not (text.isascii() and text.isdigit()) or not 1 <= int(text) <= longest:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to {longest}")
    return int(text)
