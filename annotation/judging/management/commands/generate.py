"""Answers of a model to a study's queries."""

import json
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from annotation.candidates import calls, generate, writing
from annotation.judging.batches.preparation import request_answers
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Ask a model for one answer to each query with each strategy; with --task for the answers "
        "that a task's items lack. Background workers write them; with --wait the command ends "
        "when all are written or failed, and writes them itself while no worker is running."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--endpoint", default="", metavar="NAME", help="default: the first one configured"
        )
        parser.add_argument(
            "--strategies", default="", metavar="A,B", help="default: the study's own"
        )
        parser.add_argument(
            "--rewrite", choices=("improve", "degrade"), help="rewrite answers instead"
        )
        parser.add_argument("--of", default="A1", metavar="STRATEGY", help="what to rewrite")
        parser.add_argument(
            "--task",
            metavar="NAME",
            help="of a task with attributes what it lacks: an answer from each attribute that a "
            "majority held relevant to a prompt, and the generic one",
        )
        parser.add_argument("--limit", type=int, metavar="N", help="at most so many new answers")
        parser.add_argument(
            "--dry-run", action="store_true", help="say what it would take; ask for nothing"
        )
        parser.add_argument("--wait", action="store_true", help="until all are written or failed")

    def handle(self, *, study: Study, wait: bool, **options: Any) -> None:
        if options["limit"] is not None and options["limit"] < 1:
            raise CommandError("--limit is a number from 1 on.", returncode=2)
        if options["dry_run"]:
            self._plan(study, options)
            return
        rows = _ask(study, options)
        if wait:
            writing.wait_for(study, lambda: generate.progress(study), "answer", self._note_alone)
        self._warn(study)
        counts = generate.progress(study)
        self.stdout.write(_as_json(counts) if options["json"] else _as_words(counts))
        if rows and not options["json"]:
            actual = generate.progress_of_run(rows[0].run)["actual"]
            self.stdout.write(calls.compared(rows[0].run.planned, actual))
        if wait and counts["failed"]:
            rows = generate.failures(study)
            raise CommandError("\n".join(f"{row['count']:,} × {row['error']}" for row in rows))

    def _plan(self, study: Study, options: dict) -> None:
        with transaction.atomic():
            rows = _ask(study, options)
            self._warn(study)
            transaction.set_rollback(True)
        planned = generate.planned(rows)
        self.stdout.write(json.dumps(planned) if options["json"] else calls.in_words(planned))

    def _note_alone(self) -> None:
        self.stderr.write("No worker is running: the answers are written here.")

    def _warn(self, study: Study) -> None:
        if few := generate.with_few_answers(study):
            self.stderr.write(
                f"Queries of owners with fewer than {generate.FEWEST} answers: {few:,}. A release "
                "needs five as examples and one to test on. Choose more strategies or another "
                "endpoint."
            )


def _ask(study: Study, options: dict) -> list:
    how = {"endpoint": options["endpoint"], "limit": options["limit"]}
    if name := options["task"]:
        task = study.tasks.filter(name=name).order_by("-version").first()
        if task is None:
            raise CommandError(f"The study has no task “{name}”.")
        return request_answers(study, task, **how)
    strategies = [options["rewrite"]] if options["rewrite"] else options["strategies"].split(",")
    return generate.request_answers(
        study, strategies=[name for name in strategies if name], of=options["of"], **how
    )


def _as_json(counts: dict) -> str:
    numbers = {name: counts[name] for name in ("done", "failed", "tokens")}
    return json.dumps({"requested": counts["total"], **numbers, "cost": float(counts["cost"])})


def _as_words(counts: dict) -> str:
    return (
        f"{counts['total']:,} answers asked for: {counts['done']:,} written, "
        f"{counts['failed']:,} failed, {counts['requested'] + counts['running']:,} to come; "
        f"{counts['tokens']:,} tokens, cost {counts['cost']:.4f}"
    )
