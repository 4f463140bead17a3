from annotation.celery import app
from annotation.judging.gold import claims
from annotation.judging.work import queue


@app.task
def expire_leases():
    """Reopen slots whose lease has run out, until none is left."""
    while queue.expire():
        pass


@app.task
def pull_gold():
    """Take over the claims and rubrics that models have written."""
    claims.pull()
