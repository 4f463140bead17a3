"""What management commands on a study share."""

from django.core.management.base import CommandError

from annotation.studies.models import Study


def study_of(slug: str) -> Study:
    """The study of a command's argument; CommandError where there is none."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study “{slug[:60]}”.")
    return study
