from celery.signals import worker_init
from django.db import connection

from annotation.celery import app
from annotation.core import jobs
from annotation.core.models import Installation


@worker_init.connect
def compare_files(**kwargs: object) -> None:
    """A worker that sees other files than the web servers ends at once."""
    Installation.compare()
    connection.close()  # children that are forked later must not share it


@app.task
def beat() -> None:
    """Say that beat and a worker are alive: pages show "no worker is running" when this stops."""
    jobs.turn()
