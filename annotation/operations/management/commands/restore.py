import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import OperationalError, connection

from annotation.core.commands import RefusingCommand
from annotation.operations import backup


class Command(RefusingCommand):
    help = (
        "Replace database, secrets, releases and files under way by those of a backup, then repeat "
        "the erasures and withdrawals that came after it. Start Attune anew afterwards."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="what `backup` wrote")
        parser.add_argument("--identity", type=Path, help="file with the age private key")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, file: Path, identity: Path | None, **options: Any) -> None:
        """Ask where somebody can answer; print counts and digests."""
        try:
            connection.ensure_connection()
        except OperationalError as error:
            raise CommandError("No database answers: start Attune first.") from error
        if sys.stdin.isatty():
            self.stderr.write("This replaces everything that is here. Type “replace” to go on: ")
            if input().strip() != "replace":
                raise CommandError("Nothing was changed.")
        summary = backup.restore(file.absolute(), identity)
        rows = sum(summary["counts"].values())
        words = f"{rows:,} rows and {len(summary['files'])} files of {summary['created_at']}"
        self.stdout.write(json.dumps(summary) if options["json"] else words)
        self.stderr.write("Start Attune anew now: running parts hold the former secrets.")
