"""`manage.py import_scores STUDY FILE`"""

import json

from django.core.management.base import BaseCommand, CommandError

from annotation.candidates.scores import ScoresFileError, import_scores
from annotation.core.rows import bar
from annotation.studies.commands import study_of

SHOWN = 20


class Command(BaseCommand):
    """Import aspect scores of answers, as a reward model gives them."""

    help = (
        "Import aspect scores of a study's answers from CSV or JSON lines (candidate, aspect, "
        "score and, where there are several, source). Scores that do not fit are listed; the rest "
        "is stored."
    )

    def add_arguments(self, parser):
        """STUDY, FILE and --json."""
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("file", metavar="FILE", help="the scores")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args, study, file, **options):
        """Store what fits, print the counts and what was rejected."""
        target = study_of(study)
        try:
            result = import_scores(target, file, progress=bar)
        except ScoresFileError as error:
            raise CommandError(error.sentence) from error
        if options["json"]:
            self.stdout.write(json.dumps(result))
            return
        rejected = result["rejected"]
        self.stdout.write(
            f"{result['scores']:,} scores of {result['candidates']:,} answers; "
            f"{len(rejected):,} rejected"
        )
        for row in rejected[:SHOWN]:
            self.stderr.write(f"{file}, line {row['line']}: {row['reason']}")
        if len(rejected) > SHOWN:
            self.stderr.write(f"… and {len(rejected) - SHOWN:,} more: --json lists all of them")
