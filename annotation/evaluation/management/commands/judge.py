"""`manage.py judge --release DIR --endpoint NAME --shots feedback`"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.candidates import endpoints
from annotation.core.commands import RefusingCommand
from annotation.core.jobs import TakenOver
from annotation.core.rows import bar
from annotation.evaluation import judges, runs, systems
from annotation.evaluation.models import Run


class Command(RefusingCommand):
    help = (
        "Ask a model to judge a release's answers as its people did, or those of a system that "
        "are brought (--responses) or written from the release alone (--generate); print the "
        "figures beside people's."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--release", metavar="DIR", type=Path, required=True)
        parser.add_argument("--endpoint", metavar="NAME", required=True, help="the judge")
        parser.add_argument(
            "--shots",
            metavar="NAME",
            help="what the judge sees: of own queries feedback, scores, rubric or none; of "
            "attributes attribute or none (default: the first)",
        )
        answers = parser.add_mutually_exclusive_group()
        answers.add_argument(
            "--responses",
            metavar="FILE",
            type=Path,
            help="score a system: its answers in JSON lines or CSV with the columns user, query "
            "(the query's id or text) and text, in place of those of the release",
        )
        answers.add_argument(
            "--generate",
            metavar="ARM",
            help="score a system whose answers an endpoint writes: from none, history, search, "
            "profile, aware or oracle (-nearest: of the sessions nearest to the question); of "
            "attributes, from attribute or none",
        )
        parser.add_argument("--writer", metavar="NAME", help="the endpoint; else the judge's")
        parser.add_argument("--system", metavar="NAME", help="its name; else the file's or model's")
        parser.add_argument(
            "--context", metavar="WORDS", default="", help="what the system knew of the person"
        )
        parser.add_argument("--limit", metavar="N", type=int, help="the first N responses")
        parser.add_argument("--resume", metavar="ID", help="go on with a run that was stopped")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run to the end, and print the result. Exit 1 with a sentence where it stopped."""
        if not options["responses"] and (options["context"] or (options["system"]
                                         and not options["generate"])):  # fmt: skip
            raise CommandError("--system and --context need --responses.", returncode=2)
        if options["writer"] and not options["generate"]:
            raise CommandError("--writer needs --generate.", returncode=2)
        try:
            runs.check_limit(options["limit"])
            judge = judges.in_folder(options["release"])
            run = self._run(judge, **options)
        except TakenOver as error:
            raise CommandError("Another process has taken this run over.") from error
        if run.status != Run.Status.DONE:
            raise CommandError(runs.unfinished(run))
        result = run.result
        self.stdout.write(
            json.dumps(result, ensure_ascii=False) if options["json"] else judge.words(result)
        )

    def _run(
        self,
        judge: judges.Judge,
        release: Path,
        endpoint: str,
        shots: str | None,
        limit: int | None,
        resume: str | None,
        **options: Any,
    ) -> Run:
        judged, server = runs.opened_judged(release, judge), endpoints.get(endpoint)
        arm = shots or next(iter(judge.ARMS))
        plan = runs.Judgments(judge, judged, arm, limit, _system(server.name, **options))
        expected = runs.estimate(plan, server)
        self.stderr.write(f"{expected['calls']:,} calls, about {expected['cost']:.2f}")
        row = runs.register(judged, release)
        if resume:
            run = runs.resume(resume, row, kind=plan.KIND, endpoint=server.name, setting=plan.arm,
                              limit=limit, **plan.fields)  # fmt: skip
        else:
            fields = runs.fields_of(server, plan.arm, limit, release.resolve(), expected["calls"])
            fields |= {"prompt": judge.VERSION} | plan.fields
            run = runs.request(row, plan.KIND, start=True, **fields)
        if run.status == Run.Status.DONE:
            return run
        self.stderr.write(f"Run {run.public_id}")
        return runs.work(run, plan, progress=bar)


def _system(
    judge: str,
    responses: Path | None,
    generate: str | None,
    writer: str | None,
    system: str | None,
    context: str,
    **options: Any,
) -> systems.System | None:
    if responses:
        answers = systems.of_file(responses)
        return systems.System(system or responses.stem, context, answers)
    return systems.written(writer or judge, generate, system or "") if generate else None
