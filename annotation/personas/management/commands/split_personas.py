import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.schema import add_arguments
from annotation.personas import board
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study

# Values of a dimension that are printed.
SHOWN = 10


class Command(StudyCommand):
    help = (
        "Draw N of the kept personas for the benchmark, so that no value crowds it, and put all "
        "others on the training side. "
        "Personas that have a side keep it: N counts those that are in the benchmark already."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser, board.Split)
        parser.add_argument(
            "--dry-run", action="store_true", help="print who would be where, by dimension"
        )

    def handle(self, *args: Any, study: Study, benchmark: int, seed: int, **options: Any) -> None:
        """Draw, divide, print the counts; exit 1 where there are too few personas."""
        if options["dry_run"]:
            proposal = board.propose(study, benchmark, seed)
            counts: dict[str, Any] = {
                "benchmark": len(proposal.benchmark),
                "training": len(proposal.training),
                "dimensions": {
                    dimension.name: {value: [a, b] for value, a, b in rows}
                    for dimension, rows in proposal.by_dimension()
                },
            }
        else:
            counts = dict(board.make(study, benchmark, seed))
        if options["json"]:
            self.stdout.write(json.dumps(counts, ensure_ascii=False))
        else:
            self._print(counts)

    def _print(self, counts: dict) -> None:
        dimensions = counts.pop("dimensions", {})
        self.stdout.write(", ".join(f"{side}: {n:,}" for side, n in counts.items()))
        for name, rows in dimensions.items():
            shown = ", ".join(f"{value} {a}/{b}" for value, (a, b) in list(rows.items())[:SHOWN])
            self.stdout.write(f"{name} (benchmark/training): {shown}")
