"""`manage.py make_attributes STUDY`"""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.candidates import attributes
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Cluster the statements that models extracted from conversations, person by person, and "
        "make an attribute of each cluster. Prints the counts as one JSON document."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--confidence", type=float, default=attributes.CONFIDENCE, help="of a statement, least"
        )
        parser.add_argument(
            "--similarity", type=float, default=attributes.SIMILARITY, help="cosine of a cluster"
        )
        parser.add_argument("--dry-run", action="store_true", help="print what it would make")

    def handle(
        self, *, study: Study, confidence: float, similarity: float, dry_run: bool, **options: Any
    ) -> None:
        """Make them. Exit 1 where there is no such study, or nothing is confident enough."""
        if not (0 <= confidence <= 1 and 0 < similarity <= 1):
            raise CommandError("Confidence and similarity are numbers from 0 to 1.", returncode=2)
        thresholds = attributes.Thresholds(confidence, similarity)
        if dry_run:
            counts = attributes.preview(study, thresholds)
            names = ("statements", "people", "sampled", "confident", "attributes")
            counts = {name: counts[name] for name in names}
        else:
            counts = attributes.make(study, thresholds)
        self.stdout.write(json.dumps(counts))
