"""`manage.py conversations STUDY`"""

import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.personas import conversations
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Print how many people and conversations of a study's pool each filter leaves, as one JSON "
        "document; with --take make personas of the people who are left."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        default = conversations.Filters()
        super().add_arguments(parser)
        parser.add_argument("--language", default="", help="as the collection names it: English")
        parser.add_argument("--conversations", type=int, default=default.conversations, metavar="N")
        parser.add_argument("--turns", type=int, default=default.turns, metavar="N")
        parser.add_argument("--scripted", action="store_true", help="with scripted conversations")
        parser.add_argument("--people", type=int, default=default.people, metavar="N")
        parser.add_argument(
            "--histories", action="store_true", help="first add what members of the study allow"
        )
        parser.add_argument("--take", action="store_true", help="make personas")

    def handle(self, *, study: Study, histories: bool, take: bool, **options: Any) -> None:
        """Print the counts. Exit 1 where there is no such study, or nobody to take."""
        names = ("language", "conversations", "turns", "scripted", "people")
        filters = conversations.Filters(**{name: options[name] for name in names})
        added = conversations.add_histories(study) if histories else 0
        taken = conversations.take(study, filters) if take else {}
        rows = [
            {"filter": words, "people": people, "conversations": count}
            for words, people, count in conversations.funnel(study, filters)
        ]
        shown = {"study": study.slug, "added": added, "funnel": rows, "taken": taken}
        self.stdout.write(json.dumps(shown, ensure_ascii=False))
