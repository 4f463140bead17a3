import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.schema import add_arguments, built, taken
from annotation.evaluation import draws
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Draw items for people's votes, of those that models have judged: of batches that were "
        "opened with --overlap 0."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser, draws.Round)

    def handle(self, *args: Any, study: Study, **options: Any) -> None:
        drawn = draws.draw(study, built(draws.Round, taken(draws.Round, options)))
        counts = {"items": drawn.items, "slots": drawn.slots}
        words = f"{drawn.items:,} items are drawn, for {drawn.slots:,} votes"
        self.stdout.write(json.dumps(counts) if options["json"] else words)
