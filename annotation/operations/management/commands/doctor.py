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
        document = report(examine())
        lines = (
            f"{'ok  ' if check['ok'] else 'FAIL'} {check['name']}: {check['detail']}"
            for check in document["checks"]
        )
        self.stdout.write(dumps(document) if json else "\n".join(lines))
        if not document["ok"]:
            sys.exit(1)
