import sys
from json import dumps
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotation.operations.examine import examine, report


class Command(BaseCommand):
    help = (
        "Look at database, broker, worker, beat, disks, mail, model servers, jobs, clock and "
        "backups. Exit status 1 where one of them fails."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *, json: bool, **options: Any) -> None:
        """Print a line a check, or the document."""
        document = report(examine())
        self.stdout.write(dumps(document) if json else _lines(document))
        if not document["ok"]:
            sys.exit(1)


def _lines(document: dict) -> str:
    return "\n".join(
        f"{'ok  ' if check['ok'] else 'FAIL'} {check['name']}: {check['detail']}"
        for check in document["checks"]
    )
