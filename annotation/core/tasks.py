from celery import shared_task
from django.db.models.functions import Now

from annotation.core.models import Heartbeat


@shared_task
def beat():
    """Say that a worker is alive: pages show "no worker is running" when this stops."""
    Heartbeat.objects.update_or_create(name="worker", defaults={"at": Now()})
