from annotation.celery import app
from annotation.judging import queue


@app.task
def expire_leases():
    """Reopen slots whose lease has run out, until none is left."""
    while queue.expire():
        pass
