import json
from typing import Any

from django.core.management.base import CommandParser

from annotation.candidates import writing
from annotation.candidates.models import Candidate
from annotation.core.commands import aligned_table, shown
from annotation.papers.bespoke import retrieval_study
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Measure how well owners' questions, as they are or expanded by a model, find the sessions "
        "that they grew out of: nDCG@10, with intervals over people."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--endpoint", default="", metavar="NAME", help="default: the first")
        parser.add_argument(
            "--way",
            action="append",
            choices=retrieval_study.WAYS,
            help="may be repeated; default: all",
        )

    def handle(self, *, study: Study, endpoint: str, **options: Any) -> None:
        """Have the expansions written, search, print a table. Exit 1 where nothing is grounded."""
        ways = options["way"] or list(retrieval_study.WAYS)
        rows = retrieval_study.request(study, ways, endpoint=endpoint)
        asked = Candidate.every.filter(pk__in=[row.pk for row in rows])

        def counts() -> dict:
            states = list(asked.values_list("status", flat=True))
            names = ("requested", "running", "done", "failed")
            return {name: states.count(name) for name in names} | {"total": len(states)}

        writing.wait_for(study, counts, "expansion")
        result = retrieval_study.measure(study, ways, rows)
        if options["json"]:
            self.stdout.write(json.dumps(result))
            return
        n = (f"{result['questions']:,}", f"{result['people']:,}")
        lines = [
            (row["way"], *n, *(shown(row["ndcg"].get(part)) for part in ("value", "low", "high")))
            for row in result["rows"]
        ]
        self.stdout.write(
            aligned_table(("way", "questions", "people", "nDCG@10", "low", "high"), lines)
        )
        if result["left_out"]:
            self.stderr.write(f"Questions without all expansions, left out: {result['left_out']:,}")
