from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from annotation.accounts.forms import NewToken
from annotation.accounts.models import ApiToken, User
from annotation.core import audit
from annotation.core.schema import add_arguments, built, taken


class Command(BaseCommand):
    help = (
        "Print a new API token of each account, one a line. It is shown this once and stored as a "
        "digest."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email", metavar="EMAIL", nargs="+", help="address of an account")
        add_arguments(parser, NewToken)

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        """Print the tokens alone, in the accounts' order; none where one cannot be made."""
        wanted = built(NewToken, taken(NewToken, options))
        keys = []
        with transaction.atomic():
            for address in email if isinstance(email, list) else [email]:
                user = User.objects.filter(email__iexact=address.strip(), is_active=True).first()
                if user is None:
                    raise CommandError(f"There is no account {address}.")
                study = ApiToken.studies_of(user).filter(slug=wanted.study).first()
                if wanted.study and study is None:
                    raise CommandError(f"{address} has no study {wanted.study}.")
                offered = dict(ApiToken.scopes_of(user))
                if useless := set(wanted.scopes) - offered.keys():
                    raise CommandError(f"{address} has no role for {', '.join(sorted(useless))}.")
                scopes = wanted.scopes or offered
                token, key = ApiToken.issue(user, wanted.days, scopes=scopes, study=study)
                audit.record(None, "token.make", token, user=user.pk)
                keys.append(key)
        self.stdout.write("\n".join(keys))
