"""`manage.py open_batch STUDY --task NAME`"""

import argparse
import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from annotation.judging.batches.open import ORDERS, open_batches, tasks_of
from annotation.judging.batches.summary import Summary, summary_of
from annotation.judging.kinds import kind_of
from annotation.judging.kinds.planning import Scope
from annotation.judging.models import Slot
from annotation.studies.bundle_rows import OVERLAP_LIMIT
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study

FILTERS = {
    "query": "only this query (its id; may be repeated)",
    "persona": "only queries and attributes of this persona (its id; may be repeated)",
    "strategy": "only answers of this strategy (may be repeated)",
    "language": "only queries in this language (may be repeated)",
}


class Command(StudyCommand):
    help = "Plan items for the queries that have none in the task yet, and open their slots."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--task", metavar="NAME", required=True, help="name of the task")
        parser.add_argument(
            "--also",
            metavar="NAME",
            action="append",
            default=[],
            help="also a batch of this task (may be repeated)",
        )
        parser.add_argument(
            "--order",
            choices=ORDERS,
            default="task",
            help="between the tasks: one after the other, question by question, or at random",
        )
        parser.add_argument(
            "--overlap",
            type=overlap,
            metavar="N",
            help="judgments an item (default: the task's); 0: none yet, votes are drawn later",
        )
        for name, words in FILTERS.items():
            option = f"--{name}"
            parser.add_argument(option, action="append", default=[], metavar="NAME", help=words)
        parser.add_argument("--number", type=number, metavar="N", help="at most so many items")
        parser.add_argument(
            "--again",
            action="store_true",
            help="also queries that have items: further pairs, and answers that came since",
        )
        parser.add_argument(
            "--mixed", action="store_true", help="in a random order, instead of query by query"
        )
        parser.add_argument(
            "--control",
            action="store_true",
            help="one answer of each item is generic, a hidden control",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print what would be opened, and open nothing"
        )

    def handle(self, *args: Any, study: Study, task: str, also: list[str], **options: Any) -> None:
        """Open, and print how many items and slots are new."""
        tasks = tasks_of(study, [task, *also])
        scope = Scope(
            queries=tuple(options["query"]),
            personas=tuple(options["persona"]),
            strategies=tuple(options["strategy"]),
            languages=tuple(options["language"]),
            number=options["number"],
            mixed=options["mixed"],
            again=options["again"],
            control=options["control"],
        )
        wanted = {"order": options["order"], "overlap": options["overlap"], "scope": scope}
        if options["dry_run"]:
            self._dry_run(summary_of(study, tasks, **wanted), options["json"])
            return
        batches = open_batches(study, tasks, **wanted)
        slots = Slot.objects.filter(item__batch__in=batches).count()
        opened = {"items": sum(batch.size for batch in batches), "slots": slots}
        words = f"{opened['items']:,} items and {opened['slots']:,} slots are open"
        self.stdout.write(json.dumps(opened) if options["json"] else words)
        lacking = [kind_of(entry.kind).lacking(study, entry, scope) for entry in tasks]
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


def overlap(text: str) -> int:
    """A number of judgments an item."""
    return number(text, least=0)


def number(text: str, least: int = 1) -> int:
    """A number of items, or of judgments an item."""
    if not (text.isascii() and text.isdigit()) or not least <= int(text) <= OVERLAP_LIMIT:
        words = f"must be a whole number from {least} to {OVERLAP_LIMIT:,}"
        raise argparse.ArgumentTypeError(words)
    return int(text)
