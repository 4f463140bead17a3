import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.judging.batches.open import reopen_batch
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = "Hand out again what a closed batch still lacks; held back items stay so."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch", metavar="BATCH", type=int, help="its number in the API")

    def handle(self, *args: Any, study: Study, batch: int, **options: Any) -> None:
        closed = study.batches.filter(pk=batch).first()
        if closed is None:
            raise CommandError(f"The study has no batch {batch}.")
        slots = reopen_batch(closed)
        words = json.dumps({"slots": slots}) if options["json"] else f"{slots:,} slots are open"
        self.stdout.write(words)
