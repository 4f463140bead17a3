"""`manage.py training_pairs STUDY`"""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.evaluation import training_pairs
from annotation.studies.commands import study_of


class Command(BaseCommand):
    help = (
        "Print, as JSON lines, pairs of the training personas: an answer made from the persona "
        "(A1) against one to the question alone (A3), by the same model."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="slug of a study")

    def handle(self, *args: Any, study: str, **options: Any) -> None:
        """Write the lines to stdout; exit 1 where there are none."""
        row = study_of(study)
        count = 0
        for pair in training_pairs.rows(row):
            self.stdout.write(json.dumps(pair, ensure_ascii=False))
            count += 1
        if not count:
            raise CommandError("No training persona has answers of A1 and A3 by the same model.")
        self.stderr.write(f"{count:,} pairs")
