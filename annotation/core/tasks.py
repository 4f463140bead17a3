from annotation.celery import app
from annotation.core import heartbeat


@app.task
def beat() -> None:
    """Say that beat and a worker are alive: pages show "no worker is running" when this stops."""
    heartbeat.turn()
