"""`manage.py evaluate --release DIR --endpoint NAME --setting persona`"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.candidates import endpoints
from annotation.core.commands import RefusingCommand
from annotation.core.jobs import TakenOver
from annotation.core.rows import bar
from annotation.evaluation import measuring, runs
from annotation.evaluation.models import Run
from annotation.evaluation.pairs import HALVES, RULES, TIERS
from annotation.evaluation.prompts import SETTINGS


class Command(RefusingCommand):
    help = (
        "Ask a model which answer of each pair of a release fits the person better, in both "
        "orders, or read its scores, and print its accuracy by half and tier. What came is stored: "
        "a run that was stopped goes on with --resume."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", metavar="DIR", type=Path, required=True)
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--endpoint", metavar="NAME", help="a configured model server")
        source.add_argument(
            "--scores", metavar="FILE", type=Path, help="CSV candidate,score of a reward model"
        )
        source.add_argument(
            "--model", metavar="FILE", type=Path, help="a file or folder that `train reward` made"
        )
        parser.add_argument("--setting", choices=SETTINGS, default="persona")
        parser.add_argument("--limit", metavar="N", type=int, help="so many pairs, at random")
        parser.add_argument("--resume", metavar="ID", help="go on with a run that was stopped")
        parser.add_argument("--name", default="", help="what tables call the model")
        parser.add_argument(
            "--group", default="", help="heading in tables: chat, reasoning, open-source, reward"
        )
        parser.add_argument("--estimate", action="store_true", help="print the cost, ask nothing")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run to the end, and print the result. Exit 1 with a sentence where it stopped."""
        try:
            runs.check_limit(options["limit"])
            if options["endpoint"] is not None:
                run = self._ask(**options)
            else:
                fields = {name: options[name] for name in ("setting", "limit")} | _named(options)
                measure = measuring.scored if options["scores"] else measuring.trained
                source = options["scores"] or options["model"]
                run = measure(options["release"], source, **fields)
        except TakenOver as error:
            raise CommandError("Another process has taken this run over.") from error
        if run is not None:
            self._report(run, options["json"])

    def _ask(
        self,
        release: Path,
        endpoint: str,
        setting: str,
        limit: int | None,
        resume: str,
        estimate: bool,
        **options: Any,
    ) -> Run | None:
        """Say what it costs, then ask. None where only the cost was wanted."""
        benchmark, server = runs.opened(release), endpoints.get(endpoint)
        plan = runs.Choices(benchmark, setting, limit)
        expected = runs.estimate(plan, server)
        self.stderr.write(
            f"{expected['calls']:,} calls, about {expected['tokens_in']:,} tokens to read and "
            f"{expected['tokens_out']:,} to write: about {expected['cost']:.2f} at {server.name}"
        )
        if estimate:
            self.stdout.write(
                json.dumps(expected) if options["json"] else f"{expected['cost']:.4f}"
            )
            return None
        row = runs.register(benchmark, release)
        if resume:
            checked: dict[str, Any] = {"endpoint": server.name, "setting": setting}
            if limit is not None:
                checked["limit"] = limit
            run = runs.resume(resume, row, **checked)
        else:
            fields = runs.fields_of(server, setting, limit, release.resolve(), expected["calls"])
            run = runs.request(row, Run.Kind.CHOICE, start=True, **fields | _named(options))
        if run.status == Run.Status.DONE:
            return run
        self.stderr.write(f"Run {run.public_id}")
        return runs.work(run, plan, progress=bar)

    def _report(self, run: Run, as_json: bool) -> None:
        if run.status != Run.Status.DONE:
            raise CommandError(runs.unfinished(run))
        result = run.result
        self.stdout.write(json.dumps(result, ensure_ascii=False) if as_json else _words(result))


def _named(options: dict) -> dict:
    """What the model and its group are called, where it was said."""
    named = {"model": options["name"][:200], "group": options["group"][:40]}
    return {key: value for key, value in named.items() if value}


def _words(result: dict) -> str:
    lines = [
        f"{result['model']} ({result['setting']}): {_value(result['average'])} on {result['n']:,} "
        f"pairs; {result['unparsed']:,} verdicts could not be read; by chance 50"
    ]
    if result.get("left_out"):
        lines.append(f"{result['left_out']:,} pairs of persons it was trained on are left out")
    for half in HALVES:  # PostgreSQL keeps no order of keys
        names = (*TIERS, *RULES, "average")
        tiers = {name: cell for name in names if (cell := result["accuracy"][half].get(name))}
        cells = "  ".join(f"{tier} {_value(cell)}" for tier, cell in tiers.items() if cell["n"])
        lines += [f"{half}: {cells}"] if cells else []
    lines.append(f"at equal length: {_value(result['length_controlled'])}")
    if result["position_consistency"] is not None:
        lines.append(f"the same answer in both orders: {result['position_consistency']:.1f}")
    return "\n".join(lines)


def _value(cell: dict) -> str:
    if cell["value"] is None:
        return cell.get("reason") or "–"
    return f"{cell['value']:.1f} ({cell['low']:.1f}–{cell['high']:.1f})"
