from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.commands import RefusingCommand
from annotation.core.errors import DomainError
from annotation.evaluation import judges, leaderboard, pairs, tables
from annotation.evaluation.models import Benchmark


class Command(RefusingCommand):
    help = (
        "Print the tables of all models that were measured on a release: accuracy by half and "
        "tier, by setting, standings with ranks, judges, or systems that judges scored; with "
        "--aspects, how scores on aspects go with the choices."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", metavar="DIR", type=Path, required=True)
        parser.add_argument(
            "--table",
            choices=[
                *("standings", "accuracy", "settings", "judges", "systems"),
                *("aspects", "correlations"),
            ],
            default="standings",
        )
        parser.add_argument("--format", choices=["csv", "latex", "svg", "json"], default="csv")
        parser.add_argument(
            "--aspects", metavar="FILE", type=Path, help="CSV candidate,aspect,score"
        )

    def handle(
        self,
        *args: Any,
        release: Path,
        table: str,
        format: str,
        aspects: Path | None,
        **options: Any,
    ) -> None:
        judge = judges.of_folder(release)
        source: Any = judge.read(release) if judge else pairs.read_pairs(release)
        more, benchmark = {}, None
        if aspects or table in ("aspects", "correlations"):
            more = _of_aspects(source, aspects)
        else:
            benchmark = Benchmark.objects.filter(digest=source.digest).first()
            if benchmark is None:
                raise CommandError("No model was measured on this release yet.")
            if format == "svg" and table != "standings":
                raise CommandError("Only the standings are a picture.", returncode=2)
        ending = {"latex": "tex"}.get(format, format)
        text = leaderboard.exported(benchmark, table, ending, more)
        if text is None:
            raise CommandError(f"There is nothing yet for the table {table} of this release.")
        self.stdout.write(text, ending="")


def _of_aspects(source: object, path: Path | None) -> dict[str, tables.Table]:
    if path is None or not isinstance(source, pairs.Benchmark):
        raise DomainError("Name a file of scores with --aspects, and a release with pairs.")
    scores = pairs.read_aspects(path)
    return {
        "aspects": tables.aspects(source.pairs, scores),
        "correlations": tables.correlations(source.pairs, scores),
    }
