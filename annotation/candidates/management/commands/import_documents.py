import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.candidates import documents
from annotation.core.errors import DomainError
from annotation.core.records import bar
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = "Add JSON lines, HTML, PDF, Markdown or plain text to a study's document collection."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="the documents")

    def handle(self, *args: Any, study: Study, files: list[Path], **options: Any) -> None:
        """Add file by file; a file that cannot be read ends it with a sentence, exit 1."""
        counts, skipped = {"documents": 0, "unchanged": 0}, []
        for path in bar(files, "files", len(files)):
            try:
                added = documents.add_documents(study, path.name, path.read_bytes())
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror or error}") from error
            except DomainError as refusal:
                raise CommandError(f"{path}: {refusal.sentence}") from refusal
            for key in ("documents", "unchanged"):
                counts[key] += added[key]
            skipped += [
                {"where": f"{path.name}, {row['where']}", "reason": row["reason"]}
                for row in added["skipped"]
            ]
        if options["json"]:
            self.stdout.write(json.dumps({**counts, "skipped": skipped}))
            return
        self.stdout.write("{documents:,} documents added, {unchanged:,} known".format(**counts))
        for row in skipped:
            self.stderr.write(f"{row['where']}: {row['reason']}")
