import logging

from django.core.cache import cache

from annotation.agreement import recompute
from annotation.agreement.votes.table import VotesError
from annotation.celery import app

log = logging.getLogger(__name__)

SEEN = "agreement:changes"
# Seconds after which everything is compared once though nothing seems to have changed: counts
# of changes may be late, or be lost when PostgreSQL is not shut down cleanly.
COMPARED_EVERY = 600


@app.task
def recompute_due():
    """Bring every result up to date with the votes; what stops one does not stop the others.

    While no row that results depend on changes, a turn costs one short statement.
    """
    changes = recompute.changes()
    if changes is not None and cache.get(SEEN) == changes:
        return
    due = recompute.due()
    for study, task in due:
        try:
            recompute.recompute(study, task)
        except VotesError as error:
            log.error("Study %s, task %s is not computed: %s", study.slug, task, error)
    if not due:
        cache.set(SEEN, changes, COMPARED_EVERY)
