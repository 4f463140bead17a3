import logging
import time

from django.core.cache import cache

from annotation.agreement import recompute
from annotation.celery import app
from annotation.votes.table import VotesError

log = logging.getLogger(__name__)

SEEN = "agreement:changes"
# Seconds after which everything is compared once though nothing seems to have changed: counts
# of changes may be late, or be lost when PostgreSQL is not shut down cleanly.
COMPARED_EVERY = 600
# After a turn that took long there is none for so many times its processor time, that of this
# process: large studies are computed at growing intervals, a twentieth of one core at most.
SHARE = 20
TURN_SECONDS = 10
RESTING = "agreement:resting"


@app.task
def recompute_due() -> None:
    """Bring every result up to date with the votes; what stops one does not stop the others.

    While no row that results depend on changes, a turn costs one short statement.
    """
    changes = recompute.changes()
    if (changes is not None and cache.get(SEEN) == changes) or cache.get(RESTING):
        return
    begin = time.process_time()
    due = recompute.results_due()
    for study, task in due:
        try:
            recompute.recompute(study, task)
        except VotesError as error:
            log.error("Study %s, task %s is not computed: %s", study.slug, task, error)
    rest = SHARE * (time.process_time() - begin) - TURN_SECONDS
    if rest > 0:
        cache.set(RESTING, True, rest)
    if not due:
        cache.set(SEEN, changes, COMPARED_EVERY)
