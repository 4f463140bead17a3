from django.conf import settings

from annotation.celery import app
from annotation.core import scratch
from annotation.operations import backup, held


@app.task(soft_time_limit=3_000, time_limit=3_060)
def back_up() -> None:
    """Every ten minutes: a backup where one is due; nothing of killed processes, or too old."""
    for folder in (scratch.place(), settings.BACKUP_FOLDER):
        scratch.sweep(folder)
    held.sweep()
    backup.scheduled()
