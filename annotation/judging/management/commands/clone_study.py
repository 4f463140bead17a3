import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.core.commands import RefusingCommand
from annotation.judging.curator import definition
from annotation.studies.commands import study_of


class Command(RefusingCommand):
    help = (
        "Begin a study as another one is. Without SLUG print the definition of STUDY as JSON; "
        "--file makes the study of such a file."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", nargs="?", help="slug of the study")
        parser.add_argument("slug", metavar="SLUG", nargs="?", help="of the new study")
        parser.add_argument("--title", default="", help="of the new study (default: the same)")
        parser.add_argument(
            "--part",
            action="append",
            choices=list(definition.PARTS),
            help="what it takes along (may be repeated; default: tasks, texts and checks)",
        )
        parser.add_argument("--file", type=Path, metavar="FILE", help="a definition to read")

    def handle(self, *args: Any, study: str | None, slug: str | None, **options: Any) -> None:
        """Make the study, and print its slug; or print the definition."""
        if options["file"]:
            try:
                sent = definition.text_in(options["file"])
            except OSError as error:
                raise CommandError(f"The file cannot be read: {error.strerror}.") from error
            self.stdout.write(definition.make(sent, None).slug)
            return
        if not study:
            raise CommandError("Name a study, or a --file.", returncode=2)
        source = study_of(study)
        if not slug:
            text = json.dumps(definition.definition_of(source), ensure_ascii=False, indent=1)
            self.stdout.write(text)
            return
        parts = options["part"] or list(definition.PARTS)[:3]
        wanted = definition.Clone(options["title"] or source.title, slug, parts)
        self.stdout.write(definition.clone(source, wanted, by=None).slug)
