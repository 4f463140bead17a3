import json
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from annotation.accounts.models import User
from annotation.candidates import calls, endpoints, generate, review, writing
from annotation.candidates.models import Run
from annotation.candidates.steps import STEPS
from annotation.candidates.steps.base import Options, texts_of
from annotation.core.records import chunks
from annotation.core.schema import fields_of
from annotation.studies.commands import StudyCommand
from annotation.studies.models import Study


class Command(StudyCommand):
    help = (
        "Ask a model for proposals of one step. They wait in the review "
        "queue; with --accept whatever no check flagged is accepted in somebody's name."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("step", metavar="STEP", choices=list(STEPS), help=", ".join(STEPS))
        parser.add_argument("--endpoint", default="", metavar="NAME", help="default: the first")
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the step"
        )
        parser.add_argument("--texts", type=Path, metavar="FILE", help="texts, one a line")
        parser.add_argument("--limit", type=int, metavar="N", help="at most so many proposals")
        parser.add_argument("--dry-run", action="store_true", help="say what it would take")
        parser.add_argument("--wait", action="store_true", help="until all are written or failed")
        parser.add_argument("--accept", metavar="EMAIL", help="waits, then accepts the unflagged")

    def handle(self, *, study: Study, step: str, **options: Any) -> None:
        """Plan or request, wait, accept, report. Exit 1 with sentences where something failed."""
        reviewer = _person(options["accept"]) if options["accept"] else None
        server = endpoints.get(options["endpoint"])
        wanted = _options(step, options)
        if options["dry_run"]:
            self._tell(generate.plan(study, step, wanted, endpoint=server.name), options)
            return
        run = generate.request_proposals(
            study, step, wanted, endpoint=server.name, limit=options["limit"], by=reviewer
        )
        if options["wait"] or reviewer:
            writing.wait_for(study, lambda: generate.progress_of_run(run), "proposal")
        counts = generate.progress_of_run(run)
        accepted = _accept(study, run, reviewer) if reviewer else 0
        actual = counts["actual"]
        shown = {key: counts[key] for key in ("total", "done", "failed")}
        shown |= {"tokens": actual["tokens"], "cost": actual["cost"], "accepted": accepted}
        if options["json"]:
            self._tell(shown | {"planned": run.planned, "actual": actual}, options)
        else:
            self._tell(shown, options)
            self.stdout.write(calls.compared(run.planned, actual))
        if counts["failed"]:
            causes = (
                f"{failure['count']:,} × {failure['error']}" for failure in counts["failures"]
            )
            raise CommandError("\n".join(causes))

    def _tell(self, document: dict, options: dict) -> None:
        if options["json"]:
            self.stdout.write(json.dumps(document))
        else:
            self.stdout.write(", ".join(f"{key}: {value:,}" for key, value in document.items()))


def _person(email: str) -> User:
    person = User.objects.filter(email__iexact=email).first()
    if person is None:
        raise CommandError(f"There is no account {email}.")
    return person


def _options(step: str, options: dict) -> dict:
    """The step's options as they are typed."""
    wanted: dict[str, Any] = {}
    for pair in options["set"]:
        name, equals, value = pair.partition("=")
        if not equals or name not in (names := STEPS[step].options):
            raise CommandError(f"--set takes {', '.join(names)}, as NAME=VALUE.", returncode=2)
        value = value.replace("\\n", "\n")
        wanted[name] = value.splitlines() if fields_of(Options)[name].many else value
    if path := options["texts"]:
        try:
            text = path.read_text(encoding="utf-8-sig").replace("\x00", "")
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{path}: {error}") from error
        wanted["texts"] = texts_of(text.splitlines())
    return wanted


def _accept(study: Study, run: Run, reviewer: User) -> int:
    """Accept what of ``run`` waits and no check flagged, some hundreds at a time."""
    rows = review.waiting(study, run.step, reviewer).filter(run=run, flags=[])
    ids = list(rows.values_list("pk", flat=True))
    return sum(
        review.decide(study, run.step, some, accepts=True, by=reviewer)
        for some in chunks(ids, review.MOST_AT_ONCE)
    )
