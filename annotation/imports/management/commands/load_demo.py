"""`manage.py load_demo`"""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import transaction

from annotation.candidates.models import Retrieval
from annotation.imports.bring import import_votes
from annotation.judging.curator.recipes import recipes
from annotation.judging.imports import bundles
from annotation.judging.management.commands.import_study import sentence
from annotation.studies.models import Study

FOLDER = settings.BASE_DIR / "demo"
# Slug of each study and its folder of demo/.
STUDIES = {"demo": "people", "demo-votes": "votes", "demo-own": "own"}


class Command(BaseCommand):
    help = (
        "Import the studies of the folder demo/, each unless there is one of its address: what "
        "became of it stays."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import what is missing."""
        there = set(Study.objects.filter(slug__in=STUDIES).values_list("slug", flat=True))
        for slug, name in STUDIES.items():
            if slug not in there:
                self.stdout.write(sentence(_load(slug, FOLDER / name)))


@transaction.atomic
def _load(slug: str, folder: Path) -> dict:
    """The study's totals, as ``bundles.import_study`` gives them."""
    totals = bundles.import_study(folder)
    study = Study.objects.get(slug=slug)
    votes = folder / "votes.csv"
    if votes.exists():
        import_votes(study, votes)
    if not study.items.exists():
        # Owners ask before there is a batch that could open the study.
        recipe = recipes()["own-history"]
        Retrieval.objects.create(study=study, strategies=recipe.strategies, sources=recipe.sources)
        Study.objects.filter(pk=study.pk).update(status=Study.Status.OPEN)
    return totals
