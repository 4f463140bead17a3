"""`manage.py import_votes STUDY FILE`"""

from annotation.core.records import bar
from annotation.imports.bring import import_votes
from annotation.studies.commands import ImportCommand
from annotation.studies.models import Study


class Command(ImportCommand):
    help = (
        "Import votes from CSV or JSON lines (task, worker, label and, where known, submitted_at, "
        "seconds, reason). Where votes do not fit, they are "
        "listed and nothing is stored, unless --skip-faulty."
    )
    rows = "votes"
    offer = "`import_data` can change a task that does not fit: see its --allow."

    def store(self, study: Study, file: str) -> dict:
        return import_votes(study, file, progress=bar)

    def summary(self, result: dict) -> str:
        return (
            f"{result['votes']:,} votes by {result['workers']:,} workers on "
            f"{result['items']:,} items; {len(result['rejected']):,} rejected"
        )
