import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotation.candidates import attributes
from annotation.core import learned
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Verify statements that were extracted from conversations with a model that "
        "`train verifier` wrote. Statements that were verified before keep their verdict."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--verifier", type=Path, required=True, metavar="FILE")
        parser.add_argument(
            "--refine",
            action="store_true",
            help="leave what it finds problematic for the step verify, which asks a model",
        )

    def handle(self, *args: Any, study: Study, refine: bool, **options: Any) -> None:
        """Verify, print the counts as JSON; exit 1 with a sentence where nothing can be done."""
        model, card = learned.load(options["verifier"], "verifier")
        counts = attributes.verify(study, model, card, refine=refine)
        self.stdout.write(json.dumps(counts))
