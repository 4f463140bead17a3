"""`manage.py import_votes STUDY FILE`"""

import json

from django.core.management.base import BaseCommand, CommandError

from annotation.core.rows import bar
from annotation.judging.imports.vote_rows import import_votes
from annotation.judging.imports.votes_file import VotesFileError
from annotation.studies.commands import study_of

SHOWN = 20


class Command(BaseCommand):
    """Import votes that were collected elsewhere."""

    help = (
        "Import votes from CSV or JSON lines (task, worker, label and, where known, submitted_at, "
        "seconds, reason). Votes that do not fit are listed; the rest is stored."
    )

    def add_arguments(self, parser):
        """STUDY, FILE and --json."""
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("file", metavar="FILE", help="the votes")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args, study, file, **options):
        """Store what fits, print the counts and what was rejected."""
        target = study_of(study)
        try:
            result = import_votes(target, file, progress=bar)
        except VotesFileError as error:
            raise CommandError(error.sentence) from error
        if options["json"]:
            self.stdout.write(json.dumps(result))
            return
        rejected = result["rejected"]
        self.stdout.write(
            f"{result['votes']:,} votes by {result['workers']:,} workers on "
            f"{result['items']:,} items; {len(rejected):,} rejected"
        )
        for row in rejected[:SHOWN]:
            self.stderr.write(f"{file}, line {row['line']}: {row['reason']}")
        if len(rejected) > SHOWN:
            self.stderr.write(f"… and {len(rejected) - SHOWN:,} more: --json lists all of them")
