from annotation.celery import app
from annotation.operations import backup


@app.task(soft_time_limit=3_000, time_limit=3_060)
def back_up() -> None:
    """Every ten minutes: a backup where one is due."""
    backup.scheduled()
