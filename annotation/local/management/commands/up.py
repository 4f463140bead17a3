"""`manage.py up`: the whole of Attune on one machine."""

import argparse
import sys

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from annotation.local.errors import LocalServiceError
from annotation.local.supervisor import Supervisor


class Command(BaseCommand):
    """Start everything and watch it. No database is needed before: it is started here."""

    help = (
        "Start PostgreSQL, Redis and the model server (each embedded where DATABASE_URL, REDIS_URL "
        "or ATTUNE_ENDPOINTS is not set), the web server and the background workers, and restart "
        "what crashes. Ctrl-C ends all of it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "--port", type=_port, default=settings.PORT, help="default: PORT, else 8000"
        )
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo study")

    def handle(self, *, port: int, no_demo: bool, **options) -> None:
        """Run until a signal ends it; exit 1 with a sentence where it cannot start."""
        try:
            Supervisor(settings.DATA, port=port, demo=not no_demo).run()
        except LocalServiceError as error:
            sys.exit(str(error))


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: give a number from 1 to 65535")
    return number
