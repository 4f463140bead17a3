import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.studies import survey
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "What people of a study are asked about themselves, and what a release tells of the "
        "answers. With --questions others are asked from now on; an empty file ends the survey."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--questions", metavar="FILE", help="one a line: question | choice | choice"
        )
        parser.add_argument("--consent", metavar="FILE", help="what people agree to who answer")

    def handle(self, *args: Any, study: Study, **options: Any) -> None:
        """Publish what is named, and print the survey."""
        if options["questions"]:
            texts = [_text(options[name]) for name in ("questions", "consent")]
            survey.publish(study, survey.read_questions(texts[0]), texts[1], by=None)
        document = survey.as_json(study, by_people=True)
        if options["json"]:
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        self.stdout.write(f"{document.get('people', 0)} people, told of {document.get('told', 0)}")
        for row in document.get("lost", ()):
            choices = ", ".join(f"{choice} {n}" for choice, n in row["choices"].items())
            self.stdout.write(f"{row['question']}: {choices or 'left out'}")


def _text(path: str | None) -> str:
    try:
        return Path(path).read_text("utf-8") if path else ""
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read.") from error
