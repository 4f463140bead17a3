"""`manage.py import_documents STUDY FILE...`"""

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.candidates import documents
from annotation.core.errors import DomainError
from annotation.core.rows import bar
from annotation.studies.commands import study_of


class Command(BaseCommand):
    help = "Add JSON lines, HTML, PDF, Markdown or plain text to a study's document collection."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="the documents")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, study: str, files: list[Path], **options: Any) -> None:
        """Add file by file; a file that cannot be read ends it with a sentence, exit 1."""
        target = study_of(study)
        counts, skipped = {"documents": 0, "unchanged": 0}, []
        for path in bar(files, "files", len(files)):
            try:
                added = documents.add(target, path.name, path.read_bytes())
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
