"""`manage.py import_documents STUDY FILE...`"""

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from annotation.candidates import documents
from annotation.core.errors import DomainError
from annotation.core.rows import bar
from annotation.studies.commands import study_of


class Command(BaseCommand):
    """Add files to a study's document collection."""

    help = "Add JSON lines, HTML, PDF, Markdown or plain text to a study's document collection."

    def add_arguments(self, parser):
        """STUDY, FILE... and --json."""
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="the documents")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args, study, files, **options):
        """Add file by file; a file that cannot be read ends it with a sentence, exit 1."""
        target = study_of(study)
        total = {"documents": 0, "unchanged": 0, "skipped": []}
        for path in bar(files, "files", len(files)):
            try:
                added = documents.add(target, path.name, path.read_bytes())
            except OSError as error:
                raise CommandError(f"{path}: {error.strerror or error}") from error
            except DomainError as refusal:
                raise CommandError(f"{path}: {refusal.sentence}") from refusal
            for key in ("documents", "unchanged"):
                total[key] += added[key]
            total["skipped"] += [
                {"where": f"{path.name}, {row['where']}", "reason": row["reason"]}
                for row in added["skipped"]
            ]
        if options["json"]:
            self.stdout.write(json.dumps(total))
            return
        self.stdout.write(f"{total['documents']:,} documents added, {total['unchanged']:,} known")
        for row in total["skipped"]:
            self.stderr.write(f"{row['where']}: {row['reason']}")
