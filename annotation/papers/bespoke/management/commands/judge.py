"""`manage.py judge --release DIR --endpoint NAME --shots feedback`"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.candidates import endpoints
from annotation.candidates.endpoints import Endpoint
from annotation.core.commands import RefusingCommand
from annotation.core.jobs import TakenOver
from annotation.core.rows import bar
from annotation.evaluation import runs, systems
from annotation.evaluation.models import Benchmark, Run
from annotation.papers.bespoke import judge


class Command(RefusingCommand):
    help = (
        "Ask a model to score the responses of meta_test on four criteria, with the person's "
        "rubric, need and judged responses to the same query, and which claims of the gold "
        "information they hold; print the means and the agreement with the persons."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", metavar="DIR", type=Path, required=True)
        parser.add_argument("--endpoint", metavar="NAME", required=True)
        parser.add_argument(
            "--shots",
            choices=list(judge.ARMS),
            default="feedback",
            help="what it sees beside query and need: the rubric and judged responses with scores "
            "and feedback, or with scores alone; the rubric alone; or neither",
        )
        parser.add_argument(
            "--responses",
            metavar="FILE",
            type=Path,
            help="score a system: its answers in JSON lines or CSV with the columns user, query "
            "(the query's id or text) and text, in place of those of meta_test",
        )
        parser.add_argument("--system", metavar="NAME", help="its name; else the file's")
        parser.add_argument(
            "--context", metavar="WORDS", default="", help="what the system knew of the person"
        )
        parser.add_argument("--limit", metavar="N", type=int, help="the first N responses")
        parser.add_argument("--resume", metavar="ID", help="go on with a run that was stopped")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(
        self,
        *args: Any,
        release: Path,
        endpoint: str,
        shots: str,
        limit: int | None,
        resume: str,
        responses: Path | None,
        system: str | None,
        context: str,
        **options: Any,
    ) -> None:
        """Run to the end, and print the result. Exit 1 with a sentence where it stopped."""
        if responses is None and (system or context):
            raise CommandError("--system and --context need --responses.", returncode=2)
        try:
            runs.check_limit(limit)
            judged, server = judge.read(release), endpoints.get(endpoint)
            wrote = responses and systems.System(
                system or responses.stem, context, systems.of_file(responses)
            )
            plan = runs.Judgments(judge, judged, shots, limit, wrote or None)
            run = self._run(plan, runs.register(judged, release), server, release, resume)
        except TakenOver as error:
            raise CommandError("Another process has taken this run over.") from error
        if run.status != Run.Status.DONE:
            raise CommandError(runs.unfinished(run))
        result = run.result
        self.stdout.write(
            json.dumps(result, ensure_ascii=False) if options["json"] else _words(result)
        )

    def _run(
        self, plan: runs.Judgments, row: Benchmark, server: Endpoint, release: Path, resume: str
    ) -> Run:
        calls = sum(len(questions) for _name, questions in plan.phases(dict))
        self.stderr.write(f"{calls:,} calls to {server.name}")
        if resume:
            run = runs.resume(resume, row, kind=plan.KIND, endpoint=server.name, setting=plan.arm,
                              limit=plan.limit, **plan.fields)  # fmt: skip
        else:
            fields = runs.fields_of(server, plan.arm, plan.limit, release.resolve(), calls)
            fields |= {"prompt": judge.VERSION} | plan.fields
            run = runs.request(row, plan.KIND, start=True, **fields)
        if run.status == Run.Status.DONE:
            return run
        self.stderr.write(f"Run {run.public_id}")
        return runs.work(run, plan, progress=bar)


def _words(result: dict) -> str:
    # PostgreSQL keeps no order of keys.
    cells = {name: result["criteria"][name] for name in judge.CRITERIA}
    cells |= {"Recall": result["recall"], "Avg": result["average"]}
    row = "  ".join(f"{name} {_number(value)}" for name, value in cells.items())
    missing = (
        f"{result['missing_scores']} scores missing, {result['unparsed_claims']} claims unread"
    )
    if agreement := result.get("agreement"):
        parts = [
            f"{name} {_number(agreement[name]['value'], 3)}" for name in ("pearson", "spearman")
        ]
        return (
            f"{result['model']}: {row}\nwith the person: {', '.join(parts)} "
            f"({agreement['n']} scores; {missing})"
        )
    out = result["left_out"]
    return (
        f"{result['system']} by {result['model']}: {row}\n{result['n']} answers, "
        f"{result['persons']} persons; left out: {out['answers']} answers to no query of the "
        f"release, {out['queries']} queries without an answer, {out['examples']} answers that "
        f"the judge is shown as examples ({missing})"
    )


def _number(value: float | None, places: int = 2) -> str:
    return "–" if value is None else f"{value:.{places}f}"
