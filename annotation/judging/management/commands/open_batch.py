import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.core.schema import add_arguments, taken
from annotation.judging.batches.open import Opening, open_batches, tasks_of
from annotation.judging.batches.preparation import Summary, summary_of
from annotation.judging.kinds import kind_of
from annotation.judging.models import Slot
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = "Plan items for the queries that have none in the task yet, and open their slots."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        add_arguments(parser, Opening)

    def handle(self, *args: Any, study: Study, **options: Any) -> None:
        asked = Opening(**taken(Opening, options))
        tasks, wanted = tasks_of(study, [asked.task, *asked.also]), asked.wanted
        if asked.dry_run:
            self._dry_run(summary_of(study, tasks, **wanted), options["json"])
            return
        batches = open_batches(study, tasks, **wanted)
        slots = Slot.objects.filter(item__batch__in=batches).count()
        opened = {"items": sum(batch.size for batch in batches), "slots": slots}
        words = f"{opened['items']:,} items and {opened['slots']:,} slots are open"
        self.stdout.write(json.dumps(opened) if options["json"] else words)
        lacking = [kind_of(entry.kind).lacking(study, entry, wanted["scope"]) for entry in tasks]
        for entry in filter(None, lacking):
            self.stderr.write(entry.sentence)
        if not batches and not any(lacking):
            self.stderr.write(
                "Nothing is new: every query with enough answers has its items in this task."
            )

    def _dry_run(self, summary: Summary, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(asdict(summary), ensure_ascii=False))
            return
        cost = "" if summary.cost is None else f", {summary.cost:,.2f} {summary.currency}"
        self.stdout.write(
            f"{summary.items:,} items, {summary.judgments:,} judgments, "
            f"{summary.hours:,.1f} hours{cost}"
        )
        if summary.lacking:
            self.stderr.write(summary.lacking)
        if summary.writing:
            self.stderr.write(f"{summary.writing:,} answers are still being written.")
        if summary.embedded:
            self.stderr.write(
                f"{summary.embedded:,} answers were written by the small model of this computer: "
                "they show the way and are not worth people's time."
            )
        if summary.opens:
            self.stderr.write("Opening it opens the study, which is a draft.")
