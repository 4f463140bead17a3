import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.commands import RefusingCommand
from annotation.papers.personalbench import others


class Command(RefusingCommand):
    help = (
        "Print, for a personalbench release, what a trained verifier, matcher and reward model "
        "add at each stage, out of fold by person, beside simple baselines and single people."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", metavar="DIR", type=Path, required=True)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, release: Path, **options: Any) -> None:
        rows, reasons = others.interventions(release)
        for reason in reasons:
            self.stderr.write(f"Left out: {reason}")
        if options["json"]:
            self.stdout.write(json.dumps(rows))
            return
        for row in rows:
            value = "–" if row["value"] is None else f"{row['value']:.3f}"
            if row["low"] is not None:
                value += f" ({row['low']:.3f}–{row['high']:.3f})"
            self.stdout.write(
                f"{row['stage']}: {row['row']}: {row['metric']} {value}, n = {row['n']:,} votes "
                f"({row['left_out']:,} left out)"
            )
