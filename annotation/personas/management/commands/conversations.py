import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.schema import add_arguments, taken
from annotation.personas import conversations
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Print how many people and conversations of a study's pool each filter leaves, as one JSON "
        "document; with --take make personas of the people who are left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser, conversations.Filters)
        parser.add_argument(
            "--histories", action="store_true", help="first add what members of the study allow"
        )
        parser.add_argument("--take", action="store_true", help="make personas")

    def handle(self, *, study: Study, histories: bool, take: bool, **options: Any) -> None:
        """Print the counts. Exit 1 where there is no such study, or nobody to take."""
        filters = conversations.Filters(**taken(conversations.Filters, options))
        added = conversations.add_histories(study) if histories else 0
        people = conversations.take(study, filters) if take else {}
        rows = [
            {"filter": words, "people": left, "conversations": count}
            for words, left, count in conversations.funnel(study, filters)
        ]
        shown = {"study": study.slug, "added": added, "funnel": rows, "taken": people}
        self.stdout.write(json.dumps(shown, ensure_ascii=False))
