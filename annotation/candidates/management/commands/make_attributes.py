import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.candidates import attributes
from annotation.candidates.attributes import Thresholds
from annotation.core.schema import add_arguments, taken
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Cluster the statements that models extracted from conversations, person by person, and "
        "make an attribute of each cluster. Prints the counts as one JSON document."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser, Thresholds)
        parser.add_argument("--dry-run", action="store_true", help="print what it would make")

    def handle(self, *, study: Study, dry_run: bool, **options: Any) -> None:
        """Make them. Exit 1 where there is no such study, or nothing is confident enough."""
        thresholds = Thresholds(**taken(Thresholds, options))
        if dry_run:
            counts = attributes.preview_thresholds(study, thresholds)
            names = ("statements", "people", "sampled", "confident", "attributes")
            counts = {name: counts[name] for name in names}
        else:
            counts = attributes.make(study, thresholds)
        self.stdout.write(json.dumps(counts))
