"""`manage.py gap STUDY`"""

import json
from dataclasses import asdict, is_dataclass

from django.core.management.base import BaseCommand
from django.utils.functional import Promise

from annotation.evaluation import report
from annotation.studies.commands import study_of
from annotation.studies.models import TaskDefinition


class Command(BaseCommand):
    """Compare people and models, task by task."""

    help = "Print how people and models judge the same items of a study, as one JSON document."

    def add_arguments(self, parser):
        """STUDY."""
        parser.add_argument("study", metavar="STUDY", help="slug of the study")
        parser.add_argument("--json", action="store_true", help="as it is without it, too")

    def handle(self, *, study, **options):
        """Print the stages. Exit 1 where there is no such study."""
        target = study_of(study)
        stages = {"study": study, "stages": report.stages(target)}
        self.stdout.write(json.dumps(stages, default=_plain, ensure_ascii=False))


def _plain(value):
    if isinstance(value, TaskDefinition):
        return value.name
    if isinstance(value, Promise):
        return str(value)
    if is_dataclass(value):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} has no JSON")
