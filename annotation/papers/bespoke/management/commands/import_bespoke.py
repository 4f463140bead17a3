"""`manage.py import_bespoke DIR SLUG`"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.commands import RefusingCommand
from annotation.papers.bespoke.reader import import_bespoke


class Command(RefusingCommand):
    help = "Make a study from a folder in the bespoke layout (Parquet or JSON lines)."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="the release")
        parser.add_argument("slug", metavar="SLUG", help="address of the new study")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, folder: Path, slug: str, **options: Any) -> None:
        """Import it whole or not at all, and print what there is now."""
        counts = import_bespoke(folder, slug)
        if options["json"]:
            self.stdout.write(json.dumps({"study": slug} | counts))
            return
        numbers = {name: count for name, count in counts.items() if isinstance(count, int)}
        self.stdout.write(", ".join(f"{number:,} {name}" for name, number in numbers.items()))
