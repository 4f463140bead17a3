import json
from collections.abc import Iterator
from typing import Any, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.candidates.models import Candidate
from annotation.candidates.strategies import QUESTION_ALONE
from annotation.personas.models import Persona
from annotation.personas.schema import as_text
from annotation.studies.commands import study_of
from annotation.studies.models import Study

WITH_PERSONA = "A1"


class Command(BaseCommand):
    help = (
        "Print, as JSON lines, pairs of the training personas: an answer made from the persona "
        "(A1) against one to the question alone (A3), by the same model."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("study", metavar="STUDY", help="slug of a study")

    def handle(self, *args: Any, study: str, **options: Any) -> None:
        """Write the lines to stdout; exit 1 where there are none."""
        row = study_of(study)
        count = 0
        for pair in _rows(row):
            self.stdout.write(json.dumps(pair, ensure_ascii=False))
            count += 1
        if not count:
            raise CommandError("No training persona has answers of A1 and A3 by the same model.")
        self.stderr.write(f"{count:,} pairs")


def _rows(study: Study) -> Iterator[dict]:
    """{"prompt", "question", "chosen", "rejected", "user_id", "persona"} of the training personas'
    questions: the person is known by the profile, which `train` needs to leave that person out.

    ``prompt`` shows profile and question, for training elsewhere; `train` reads both apart.
    Chosen is an answer that was made from the persona (A1), rejected one of the same model to the
    question alone (A3). A persona of the benchmark is never among them: a persona is of one split.
    """
    answers = Candidate.objects.filter(
        study=study,
        strategy__in=(WITH_PERSONA, QUESTION_ALONE),
        query__persona__split=Persona.Split.TRAINING,
        query__persona__dropped_at=None,
    ).select_related("query__persona")
    waiting: dict[tuple, Candidate] = {}
    order = ("query_id", "model", "strategy", "external_id")
    for answer in answers.order_by(*order).iterator(2_000):
        key = (answer.query_id, answer.model)
        if answer.strategy == WITH_PERSONA:
            waiting.setdefault(key, answer)
        elif chosen := waiting.pop(key, None):
            yield _row(chosen, answer)


def _row(chosen: Candidate, rejected: Candidate) -> dict:
    query = chosen.query
    persona = cast(Persona, query.persona)
    profile = persona.versions.latest("pk").profile
    return {
        "prompt": f"The user's profile:\n{as_text(profile)}\n\nQuestion:\n{query.text}",
        "question": query.text,
        "chosen": chosen.text,
        "rejected": rejected.text,
        "user_id": persona.external_id,
        "persona": profile,
    }
