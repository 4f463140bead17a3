import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.evaluation import choices, pairs, runs, training
from annotation.evaluation.commands import RunCommand
from annotation.evaluation.pairs import HALVES, RULES, SETTINGS, TIERS


class Command(RunCommand):
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

    def handle(self, *, release: Path, setting: str, limit: int | None, **options: Any) -> None:
        named = {"model": options["name"][:200], "group": options["group"][:40]}
        fields = {key: value for key, value in named.items() if value}
        if options["endpoint"] is None:
            runs.check_limit(limit)
            source = options["scores"] or options["model"]
            about = {"model": source.stem[:200], "setting": setting, "limit": limit} | fields
            benchmark = runs.opened(release)
            if options["scores"]:
                plan = choices.by_scores(benchmark, pairs.read_scores(source), limit)
            else:
                plan = training.rated(benchmark, source, setting, limit)
            run = runs.of_scores(release, plan, benchmark, **about)
        else:
            resume = None if options["estimate"] else options["resume"]
            asked = (release, options["endpoint"], setting, limit)
            wanted = runs.measured(*asked, resume=resume, **fields)
            if options["estimate"]:
                self.stderr.write(wanted.words)
                cost = f"{wanted.expected['cost']:.4f}"
                self.stdout.write(json.dumps(wanted.expected) if options["json"] else cost)
                return
            run = self.carry_out(wanted)
        self.report(run, _words(run.result), options["json"])


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
