"""`manage.py groups STUDY --task NAME`"""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.commands import aligned_table, shown
from annotation.evaluation import estimates
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = "Print agreement, preferences and scores by what people said of themselves."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--task", metavar="NAME", required=True)
        parser.add_argument("--question", metavar="NAME", default="")

    def handle(self, *args: Any, study: Study, task: str, question: str, **options: Any) -> None:
        """Exit 1 where there is no such task or question, or people are asked nothing."""
        result = estimates.groups(study, task, question)
        if options["json"]:
            self.stdout.write(json.dumps([asdict(group) for group in result], ensure_ascii=False))
            return
        header = ("", "people", "votes", "figure", "value", "low", "high")
        rows = [
            (f"{group.question} {group.answer}", str(group.people), str(group.votes), name,
             *(shown(value.get(part)) for part in ("value", "low", "high")))
            for group in result for name, value in group.figures.items()
        ]  # fmt: skip
        self.stdout.write(aligned_table(header, rows))
