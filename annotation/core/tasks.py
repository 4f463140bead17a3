from annotation.celery import app
from annotation.core import heartbeat


@app.task
def beat():
    """Say that a worker is alive: pages show "no worker is running" when this stops."""
    heartbeat.beat()
