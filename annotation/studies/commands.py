"""What management commands on a study share."""

import json
from abc import ABC, abstractmethod
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from annotation.core.commands import RefusingCommand
from annotation.studies.models import Study

SHOWN = 20


def study_of(slug: str) -> Study:
    """The study of a command's argument; CommandError where there is none."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study “{slug[:60]}”.")
    return study


class StudyCommand(RefusingCommand):
    """STUDY --json: ``handle`` gets the Study of this slug as ``study``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def execute(self, *args: Any, study: str, **options: Any) -> str | None:
        return super().execute(*args, study=study_of(study), **options)


class ImportCommand(StudyCommand, ABC):
    """STUDY FILE: stores a file's rows, prints the counts and the rows that were rejected."""

    rows: str
    # What else can be done where lines do not fit.
    offer = ""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", metavar="FILE", help=f"the {self.rows}")
        parser.add_argument(
            "--skip-faulty", action="store_true", help="store the rest where lines are faulty"
        )

    @abstractmethod
    def store(self, study: Study, file: str) -> dict[str, Any]:
        """Store ``file``; the counts, and as "rejected" {"line", "reason"} of each row left out."""

    @abstractmethod
    def summary(self, result: dict[str, Any]) -> str:
        """The counts in one line."""

    def handle(self, *args: Any, study: Study, file: str, **options: Any) -> None:
        """Store the file, print the counts; where lines do not fit, list them and store nothing.

        With --skip-faulty the others are stored.
        """
        with transaction.atomic():
            result = self.store(study, file)
            rejected = result.get("rejected", [])
            refused = bool(rejected) and not (options["skip_faulty"] and result.get(self.rows))
            transaction.set_rollback(refused)
        if refused:
            result |= {name: 0 for name, value in result.items() if isinstance(value, int)}
        if options["json"]:
            self.stdout.write(json.dumps(result, ensure_ascii=False))
        else:
            self.say(file, "" if refused else self.summary(result), rejected)
        if refused:
            words = f"{len(rejected):,} lines of {file} do not fit. Nothing was stored: correct "
            words += "them, or leave them out with --skip-faulty."
            raise CommandError(f"{words} {self.offer}".strip())

    def say(self, file: str, summary: str, rejected: list[dict[str, Any]]) -> None:
        """The counts, and the first rows that were rejected, for people."""
        if summary:
            self.stdout.write(summary)
        for row in rejected[:SHOWN]:
            self.stderr.write(f"{file}, line {row['line']}: {row['reason']}")
        if len(rejected) > SHOWN:
            self.stderr.write(f"… and {len(rejected) - SHOWN:,} more: --json lists all of them")
