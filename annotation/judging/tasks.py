from celery import shared_task

from annotation.judging import queue


@shared_task
def expire_leases():
    """Reopen slots whose lease has run out, until none is left."""
    while queue.expire():
        pass
