import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.commands import RefusingCommand
from annotation.core.records import bar
from annotation.datasets.release_import import import_release

SHOWN = 20


class Command(RefusingCommand):
    help = "Make a study of a release's folder, ours or a published one; the layout is recognised."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="the release")
        parser.add_argument("slug", metavar="SLUG", help="address of the study")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, folder: Path, slug: str, **options: Any) -> None:
        """Import what is whole, and print what came in and what did not."""
        try:
            report = import_release(folder, slug, progress=bar)
        except OSError as error:
            reason = error.strerror or "input/output error"
            raise CommandError(f"{folder}: {reason.lower()}") from error
        if options["json"]:
            self.stdout.write(json.dumps(report, ensure_ascii=False))
            return
        names = ("items", "votes", "scores", "workers")
        counts = ", ".join(f"{report[name]:,} {name}" for name in names)
        self.stdout.write(f"{slug} ({report['layout']}): {counts}")
        for half, tiers in report["pairs"].items():
            named = ", ".join(f"{number:,} {tier or 'pairs'}" for tier, number in tiers.items())
            self.stdout.write(f"{half}: {named}")
        for words, number in report["left_out"].items():
            self.stderr.write(f"not taken over: {number:,} {words}")
        if report["not_in_layout"]:
            self.stderr.write(f"the layout has not: {', '.join(report['not_in_layout'])}")
        for fault in report["rejected"][:SHOWN]:
            place = f"{fault['file']}, row {fault['line']}" if fault["line"] else fault["file"]
            self.stderr.write(f"left out: {place}: {fault['reason']}")
        if len(report["rejected"]) > SHOWN:
            self.stderr.write(f"and {len(report['rejected']) - SHOWN:,} more")
