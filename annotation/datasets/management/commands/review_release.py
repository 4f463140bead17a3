import json
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.commands import RefusingCommand
from annotation.datasets.check import review


class Command(RefusingCommand):
    help = "List passages of a release that look like personal data: read them before publishing."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, folder: Path, **options: Any) -> None:
        """Print every passage with its place; nothing is changed."""
        passages = list(review(folder))
        if options["json"]:
            self.stdout.write(json.dumps({"passages": passages}, ensure_ascii=False))
            return
        for passage in passages:
            place = f"{passage['file']}, row {passage['line']}, {passage['field']}"
            around = " ".join(passage["around"].split())
            self.stdout.write(f"{place}: {passage['kind']} “{passage['text']}” in “{around}”")
        kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(p["kind"] for p in passages).items())
        self.stdout.write(f"{len(passages)} passages to read" + (f": {kinds}" if kinds else ""))
