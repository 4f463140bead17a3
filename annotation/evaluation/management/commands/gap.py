"""`manage.py gap STUDY`"""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotation.evaluation import report
from annotation.studies.commands import study_of


class Command(BaseCommand):
    help = "Print how people and models judge the same items of a study, as one JSON document."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("--json", action="store_true", help="as it is without it, too")

    def handle(self, *, study: str, **options: Any) -> None:
        """Print the stages. Exit 1 where there is no such study."""
        self.stdout.write(report.as_json(study_of(study)))
