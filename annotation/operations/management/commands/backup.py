import json
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser

from annotation.core.commands import RefusingCommand
from annotation.operations import backup


class Command(RefusingCommand):
    help = (
        "Write database, secrets, releases, files under way and the lists of erasures to one file. "
        "With --schedule, write one to ATTUNE_BACKUP_FOLDER where ATTUNE_BACKUP_HOURS have passed, "
        "as beat does."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("file", metavar="FILE", nargs="?", type=Path, help="what is written")
        which.add_argument("--schedule", action="store_true", help="only where one is due")
        parser.add_argument(
            "--recipient",
            default=settings.BACKUP_RECIPIENT,
            metavar="AGE1…",
            help="encrypt to this age public key (default: ATTUNE_BACKUP_RECIPIENT)",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, file: Path | None, schedule: bool, recipient: str, **options: Any) -> None:
        if schedule or file is None:
            self.stdout.write(str(backup.scheduled() or "No backup is due."))
            return
        summary = backup.backup(file.absolute(), recipient)
        rows = sum(summary["counts"].values())
        words = f"{file}: {rows:,} rows, {len(summary['files'])} files, {summary['bytes']:,} bytes"
        self.stdout.write(json.dumps(summary) if options["json"] else words)
