"""What commands that ask models share."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.commands import RefusingCommand, add_without_proposals
from annotation.core.jobs import TakenOver
from annotation.core.records import bar
from annotation.evaluation import runs
from annotation.evaluation.models import Run
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study
from annotation.votes import counting


class RunCommand(RefusingCommand):
    """A run that this process carries out to its end."""

    def carry_out(self, wanted: runs.Wanted) -> Run:
        """The run at its end; CommandError with the reason where it stopped."""
        self.stderr.write(wanted.words)
        run = runs.start(wanted)
        try:
            if run.status != Run.Status.DONE:
                self.stderr.write(f"Run {run.public_id}")
                run = runs.work(run, wanted.plan, progress=bar)
        except TakenOver as error:
            raise CommandError("Another process has taken this run over.") from error
        if run.status != Run.Status.DONE:
            stored = f"{run.replies.count():,} of {run.calls:,} answers are stored"
            raise CommandError(f"{run.error} {stored}; go on with --resume {run.public_id}")
        return run

    def report(self, run: Run, words: str, as_json: bool) -> None:
        self.stdout.write(json.dumps(run.result, ensure_ascii=False) if as_json else words)


class VotedCommand(StudyCommand):
    """Figures of one question of a task, with or without what began from a proposal."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--task", metavar="NAME", required=True)
        parser.add_argument("--question", metavar="NAME", default="")
        add_without_proposals(parser)

    def say_proposals(self, study: Study, options: dict[str, Any]) -> None:
        """How many judgments began from a proposal, on the error stream."""
        left_out = options["without_proposals"]
        if said := counting.said_of_proposals(study, options["task"], left_out=left_out):
            self.stderr.write(said)
