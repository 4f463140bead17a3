"""`manage.py load_demo`"""

from django.conf import settings
from django.core.management.base import BaseCommand

from annotation.judging.imports import bundles
from annotation.judging.management.commands.import_study import sentence
from annotation.studies.models import Study

SLUG = "demo"


class Command(BaseCommand):
    """Load the demo study, once."""

    help = (
        "Import the demo study of the folder demo/, unless there is one: what became of it stays."
    )

    def handle(self, *args, **options):
        """Import it where it is missing."""
        if not Study.objects.filter(slug=SLUG).exists():
            totals = bundles.import_study(settings.BASE_DIR / "demo")
            self.stdout.write(sentence(totals))
