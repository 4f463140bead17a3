from django.db.models.functions import Now

from annotation.celery import app
from annotation.core.models import Heartbeat


@app.task
def beat():
    """Say that a worker is alive: pages show "no worker is running" when this stops."""
    Heartbeat.objects.update_or_create(name="worker", defaults={"at": Now()})
