import json
from dataclasses import asdict
from typing import Any

from annotation.core.commands import aligned_table, shown
from annotation.evaluation import estimates
from annotation.evaluation.commands import VotedCommand
from annotation.studies.models import Study


class Command(VotedCommand):
    help = "Print agreement, preferences and scores by what people said of themselves."

    def handle(self, *args: Any, study: Study, **options: Any) -> None:
        named, left_out = (options["task"], options["question"]), options["without_proposals"]
        result = estimates.groups(study, *named, proposed=not left_out)
        self.say_proposals(study, options)
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
