from typing import Any

from annotation.evaluation import gap
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = "Print how people and models judge the same items of a study, as one JSON document."

    def handle(self, *, study: Study, **options: Any) -> None:
        self.stdout.write(gap.as_json(study))
