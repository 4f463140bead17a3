import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.commands import RefusingCommand
from annotation.datasets.check import compare


class Command(RefusingCommand):
    help = "Show which rows were added, removed or changed between two releases' folders."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("old", metavar="OLD", type=Path)
        parser.add_argument("new", metavar="NEW", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, old: Path, new: Path, **options: Any) -> None:
        """Compare them row by row."""
        difference = compare(old, new)
        if options["json"]:
            self.stdout.write(json.dumps(difference, ensure_ascii=False))
            return
        self.stdout.write(f"{difference['old']} -> {difference['new']}")
        for path, entry in difference["tables"].items():
            sorts = ("added", "removed", "changed", "same")
            counts = ", ".join(f"{entry[name]:,} {name}" for name in sorts)
            self.stdout.write(f"{path}: {counts}")
        if not difference["tables"]:
            self.stdout.write("no row differs")
