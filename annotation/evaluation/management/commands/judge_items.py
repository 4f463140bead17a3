"""`manage.py judge_items STUDY --task NAME --endpoint NAME`"""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.candidates import endpoints
from annotation.core.jobs import TakenOver
from annotation.core.rows import bar
from annotation.evaluation import rating, runs
from annotation.evaluation.models import Run
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Ask a model about the items of a task, with the texts that people see, twice with the "
        "answers in reverse where there are several. Its verdicts stand beside people's judgments."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--task", metavar="NAME", required=True, help="name of the task")
        parser.add_argument("--endpoint", metavar="NAME", required=True)
        parser.add_argument(
            "--name", default="", help="what reports call it (default: the endpoint's model)"
        )
        parser.add_argument("--limit", metavar="N", type=int, help="the first N items")
        parser.add_argument(
            "--samples", metavar="N", type=int, default=1, help="ask so often in each order (1)"
        )
        parser.add_argument("--resume", metavar="ID", help="go on with a run that was stopped")
        parser.add_argument(
            "--dry-run", action="store_true", help="print what it would take; ask nothing"
        )

    def handle(
        self,
        *,
        study: Study,
        task: str,
        endpoint: str,
        name: str,
        limit: int | None,
        samples: int,
        resume: str,
        dry_run: bool,
        **options: Any,
    ) -> None:
        """Run to the end, and print the counts. Exit 1 with a sentence where it stopped."""
        try:
            wanted = rating.wanted(study, task, endpoint, name=name, limit=limit, samples=samples,
                                   resume=resume)  # fmt: skip
            self.stderr.write(rating.words(wanted))
            if dry_run:
                self.stdout.write(json.dumps(wanted.expected))
                return
            run = rating.start(wanted)
            if run.status != Run.Status.DONE:
                self.stderr.write(f"Run {run.public_id}")
                run = runs.work(run, wanted.plan, progress=bar)
        except TakenOver as error:
            raise CommandError("Another process has taken this run over.") from error
        except endpoints.EndpointsWrong as wrong:
            raise CommandError(str(wrong)) from wrong
        if run.status != Run.Status.DONE:
            raise CommandError(runs.unfinished(run))
        words = (
            "{model}: {verdicts:,} verdicts on {items:,} items, {unread:,} unread, "
            "{contradictory:,} contradictory"
        )
        result = run.result
        self.stdout.write(json.dumps(result) if options["json"] else words.format(**result))
