"""`manage.py leaderboard --release DIR`"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.commands import RefusingCommand
from annotation.core.errors import DomainError
from annotation.evaluation import judges, leaderboard, pairs, scores_file, tables
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
        """Print one table. Exit 1 where nothing was measured yet."""
        judge = judges.of_folder(release)
        source: Any = judge.read(release) if judge else pairs.read(release)
        if aspects or table in ("aspects", "correlations"):
            self._write(_of_aspects(source, table, aspects), format)
            return
        benchmark = Benchmark.objects.filter(digest=source.digest).first()
        if benchmark is None:
            raise CommandError("No model was measured on this release yet.")
        if table == "standings" and not judge:
            self._standings(benchmark, format)
            return
        made = leaderboard.all_tables(benchmark).get(table)
        if made is None:
            raise CommandError(f"There is nothing yet for the table {table} of this release.")
        self._write(made, format)

    def _standings(self, benchmark: Benchmark, format: str) -> None:
        rows = leaderboard.standings(benchmark)
        if not rows:
            raise CommandError("No model was measured on this release yet.")
        if format == "svg":
            title, desc = f"{benchmark.name}: accuracy", "Per cent with 95 % intervals"
            picture = tables.as_svg("standings", title, desc, leaderboard.dots(rows), 50.0)
            self.stdout.write(picture, ending="")
            return
        self._write(leaderboard.standings_table(rows), format)

    def _write(self, table: tables.Table, format: str) -> None:
        if format == "svg":
            raise CommandError("Only the standings are a picture.", returncode=2)
        if format == "json":
            heads, *lines = tables.as_lines(table)
            rows = [dict(zip(heads, line, strict=True)) for line in lines]
            self.stdout.write(json.dumps(rows, ensure_ascii=False))
            return
        text = tables.as_latex(table) if format == "latex" else tables.as_csv(table)
        self.stdout.write(text, ending="")


def _of_aspects(source: object, table: str, path: Path | None) -> tables.Table:
    if path is None or not isinstance(source, pairs.Benchmark):
        raise DomainError("Name a file of scores with --aspects, and a release with pairs.")
    scores = scores_file.read_aspects(path)
    make = tables.correlations if table == "correlations" else tables.aspects
    return make(source.pairs, scores)
