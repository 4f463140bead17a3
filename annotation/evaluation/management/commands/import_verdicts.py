"""`manage.py import_verdicts STUDY FILE`"""

import json

from django.core.management.base import BaseCommand, CommandError

from annotation.evaluation.verdicts import import_verdicts
from annotation.studies.bundle import BundleError
from annotation.studies.commands import study_of


class Command(BaseCommand):
    """Import models' verdicts, to compare them with people's."""

    help = (
        "Import what models say of a study's attributes, their relevance, or pairs of answers, "
        "from JSON lines (task: item's id, model, label). Nothing is stored when anything is wrong."
    )

    def add_arguments(self, parser):
        """STUDY, FILE and --json."""
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("file", metavar="FILE", help="the verdicts")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args, study, file, **options):
        """Store, and print the counts."""
        target = study_of(study)
        try:
            result = import_verdicts(target, file)
        except BundleError as error:
            raise CommandError(error.sentence) from error
        if options["json"]:
            self.stdout.write(json.dumps(result))
            return
        self.stdout.write(
            f"{result['verdicts']:,} verdicts ({result['new']:,} new) on {result['items']:,} items "
            f"by {len(result['models']):,} models"
        )
