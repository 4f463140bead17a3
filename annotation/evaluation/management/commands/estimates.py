import json
from typing import Any

from annotation.core.commands import aligned_table, shown
from annotation.evaluation import estimates
from annotation.evaluation.commands import VotedCommand
from annotation.studies.models import Study


class Command(VotedCommand):
    help = (
        "Print shares, mean scores, strengths and accuracy on gold of a task that models judged: "
        "by people, by people and model, by the model alone."
    )

    def handle(self, *args: Any, study: Study, **options: Any) -> None:
        named, left_out = (options["task"], options["question"]), options["without_proposals"]
        result = estimates.estimates(study, *named, proposed=not left_out)
        self.say_proposals(study, options)
        if options["json"]:
            self.stdout.write(json.dumps(estimates.as_json(result), ensure_ascii=False))
            return
        header = ("", "people", "low", "high", "both", "low", "high", "model", "")
        rows = [
            (each.name, *map(shown, (
                each.people.value, each.people.low, each.people.high, each.combined.value,
                each.combined.low, each.combined.high, each.model,
            )), f"{each.judge}: {each.sentence}{_planned(each)}")
            for each in result["quantities"]
        ]  # fmt: skip
        self.stdout.write(aligned_table(header, rows))


def _planned(quantity: estimates.Quantity) -> str:
    if not (planned := quantity.planned):
        return ""
    people, both = (planned[name] or "more than all items give" for name in ("people", "combined"))
    return f"; ± {estimates.PLANNED} needs {both} votes, {people} without the model"
