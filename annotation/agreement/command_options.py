"""What the commands `agreement` and `tiers` share: their arguments and where votes come from."""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.votes.table import Votes, VotesError, read_votes

if TYPE_CHECKING:
    from annotation.votes.stored import StudyVotes


class VotesCommand(BaseCommand, ABC):
    """A command over a study's votes or a votes file; the file needs no database."""

    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("study", nargs="?", metavar="STUDY", help="slug of a study")
        source.add_argument(
            "--votes", metavar="FILE", help="CSV or JSON lines with task, worker, label"
        )
        parser.add_argument(
            "--task",
            default="",
            help="a study's task (default: its pairs, or else its triples); scores: NAME:CRITERION",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, compute, print; votes that are wrong end in exit status 1 with their sentence."""
        try:
            votes, study = self.votes(options)
            self.stdout.write(self.answer(votes, study, options))
        except BrokenPipeError:
            # Who reads has seen enough (`| head`); nor may Python's own flush at the exit complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        except VotesError as error:
            raise CommandError(str(error)) from error

    timed = False
    # Whether other kinds than selections have what the command computes.
    every_kind = False

    def votes(self, options: dict) -> tuple[Votes, "StudyVotes | None"]:
        """The votes the arguments name, and the study's reading they are of (None: a file's)."""
        if options["votes"]:
            return read_votes(options["votes"], timed=self.timed), None
        # Not above: a file's votes need no models.
        from annotation.votes.stored import study_votes

        study = study_votes(options["study"], options["task"], tiered=not self.every_kind)
        self.stderr.write(f"The votes of task {study.task}; --task names another.")
        return study.votes, study

    @abstractmethod
    def answer(self, votes: Votes, study: "StudyVotes | None", options: dict) -> str:
        """The text to print."""


def aligned_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows of text under a header, columns padded; the first to the left, the rest to the right."""
    rows = [header, *rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def shown(number: float | None) -> str:
    """A number with three decimals, or a dash."""
    return "–" if number is None else f"{number:z.3f}"
