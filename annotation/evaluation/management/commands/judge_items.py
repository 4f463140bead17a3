import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.schema import add_arguments, built, taken
from annotation.evaluation import raters, runs
from annotation.evaluation.commands import RunCommand
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(RunCommand, StudyCommand):
    help = (
        "Ask a model about the items of a task, with the texts that people see, twice with the "
        "answers in reverse where there are several. Its verdicts stand beside people's judgments."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser, raters.Rating)
        parser.add_argument("--resume", metavar="ID", help="go on with a run that was stopped")
        parser.add_argument(
            "--dry-run", action="store_true", help="print what it would take; ask nothing"
        )

    def handle(self, *, study: Study, dry_run: bool, resume: str, **options: Any) -> None:
        asked = built(raters.Rating, taken(raters.Rating, options))
        wanted = runs.rating(study, asked, resume)
        if dry_run:
            self.stderr.write(wanted.words)
            self.stdout.write(json.dumps(wanted.expected))
            return
        run = self.carry_out(wanted)
        words = (
            "{model}: {verdicts:,} verdicts on {items:,} items, {unread:,} unread, "
            "{contradictory:,} contradictory"
        )
        self.report(run, words.format(**run.result), options["json"])
