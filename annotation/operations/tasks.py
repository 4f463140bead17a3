from django.conf import settings

from annotation.celery import app
from annotation.core import uploads
from annotation.operations import backup, people


@app.task(soft_time_limit=3_000, time_limit=3_060)
def back_up() -> None:
    """Every ten minutes: a backup where one is due; nothing of killed processes, or too old."""
    for folder in (uploads.place(), settings.BACKUP_FOLDER):
        uploads.sweep(folder)
    people.sweep()
    backup.scheduled()
