"""`manage.py split_personas STUDY --benchmark N`"""

import json
import random

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from annotation.core.errors import DomainError
from annotation.personas import curate
from annotation.personas.models import Persona
from annotation.studies.models import Study


class Command(BaseCommand):
    """Divide personas into those of the benchmark and those that train models."""

    help = (
        "Draw N of the kept personas for the benchmark and put all others on the training side. "
        "Personas that have a side keep it: N counts those that are in the benchmark already."
    )

    def add_arguments(self, parser):
        """STUDY, --benchmark, --seed, --json."""
        parser.add_argument("study", metavar="STUDY", help="slug of a study")
        parser.add_argument("--benchmark", type=int, required=True, metavar="N")
        parser.add_argument("--seed", type=int, default=1, help="of the draw (default 1)")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    @transaction.atomic
    def handle(self, *args, study, benchmark, seed, **options):
        """Draw, divide, print the counts; exit 1 where there are too few personas."""
        there = Study.objects.select_for_update(no_key=True).filter(slug=study).first()
        if there is None:
            raise CommandError(f"There is no study “{study}”.")
        people = there.personas.filter(dropped_at=None)
        undecided = people.filter(split="").order_by("pk")
        undecided = list(undecided.values_list("external_id", flat=True))
        missing = benchmark - people.filter(split=Persona.Split.BENCHMARK).count()
        if not 0 <= missing <= len(undecided):
            raise CommandError(
                f"{missing:,} more personas are to be drawn; {len(undecided):,} have no side yet."
            )
        chosen = set(random.Random(seed).sample(undecided, missing))  # noqa: S311 - no secret
        try:
            curate.split(there, chosen, Persona.Split.BENCHMARK)
            curate.split(there, set(undecided) - chosen, Persona.Split.TRAINING)
        except DomainError as refusal:
            raise CommandError(refusal.sentence) from refusal
        counts = {side: people.filter(split=side).count() for side in Persona.Split.values}
        if options["json"]:
            self.stdout.write(json.dumps(counts))
        else:
            self.stdout.write(", ".join(f"{side}: {n:,}" for side, n in counts.items()))
