import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from annotation.candidates import generate
from annotation.core.commands import RefusingCommand
from annotation.judging.batches.preparation import request_answers
from annotation.studies.models import TaskDefinition


class Command(RefusingCommand):
    help = (
        "Ask a model for the answers that a task with attributes lacks: one from each attribute "
        "that a majority held relevant to a prompt, and the generic one. Workers write them; "
        "`generate STUDY --wait` waits for them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("--task", metavar="NAME", required=True, help="name of the task")
        parser.add_argument(
            "--endpoint", default="", metavar="NAME", help="default: the first one configured"
        )
        parser.add_argument("--limit", type=int, metavar="N", help="at most so many new answers")
        parser.add_argument(
            "--dry-run", action="store_true", help="print what it would take; ask for nothing"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(
        self,
        *,
        study: str,
        task: str,
        endpoint: str,
        limit: int | None,
        dry_run: bool,
        **options: Any,
    ) -> None:
        """Request, and print how many answers are new and what they are expected to take."""
        named = TaskDefinition.objects.filter(study__slug=study, name=task)
        newest = named.select_related("study").order_by("-version").first()
        if newest is None:
            raise CommandError(f"There is no study “{study}” with a task “{task}”.")
        if limit is not None and limit < 1:
            raise CommandError("--limit is a number from 1 on.", returncode=2)
        with transaction.atomic():
            rows = request_answers(newest.study, newest, endpoint=endpoint, limit=limit)
            transaction.set_rollback(dry_run)
        planned = generate.planned(rows)
        words = "{answers:,} answers: {calls:,} calls, about {tokens:,} tokens, cost {cost:.4f}"
        result = {"answers": len(rows), **planned}
        self.stdout.write(json.dumps(result) if options["json"] else words.format(**result))
