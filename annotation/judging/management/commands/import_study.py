import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.commands import RefusingCommand
from annotation.core.records import bar
from annotation.judging.imports import bundles


class Command(RefusingCommand):
    help = (
        "Import a study bundle (a folder with study.json and JSON-lines files). New rows are "
        "added, changed ones become new versions; nothing is stored when anything is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", help="the bundle's folder")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, folder: str, **options: Any) -> None:
        bundle = bundles.load_bundle(folder)
        for warning in bundle.warnings:
            self.stderr.write(warning)
        totals = bundles.store_bundle(bundle, progress=bar)
        self.stdout.write(json.dumps(totals) if options["json"] else sentence(totals))


def sentence(totals: dict) -> str:
    numbers = ", ".join(f"{n:,} {name}" for name, n in totals.items() if name != "study")
    return f"{totals['study']}: {numbers}"
