import logging
import time

from django.core.cache import cache

from annotation.agreement import recompute
from annotation.celery import app
from annotation.votes.table import VotesError

log = logging.getLogger(__name__)

SEEN = "agreement:changes"
# Seconds after which everything is compared once though nothing seems to have changed: counts
# of changes may be late, or be lost when PostgreSQL is not shut down cleanly. Twice as many after
# each comparison that found nothing, up to a day.
COMPARED_EVERY, COMPARED_DAILY = 600, 86_400
UNCHANGED = "agreement:unchanged"
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
    due = recompute.due()
    for study, task in due:
        try:
            recompute.recompute(study, task)
        except VotesError as error:
            log.error("Study %s, task %s is not computed: %s", study.slug, task, error)
    rest = SHARE * (time.process_time() - begin) - TURN_SECONDS
    if rest > 0:
        cache.set(RESTING, True, rest)
    if not due:
        _note(changes)


def _note(changes: int | None) -> None:
    """Note that every result was up to date when PostgreSQL had counted ``changes``."""
    before, seconds = cache.get(UNCHANGED, (None, 0))
    seconds = min(2 * seconds, COMPARED_DAILY) if before == changes else COMPARED_EVERY
    cache.set(UNCHANGED, (changes, seconds), 2 * COMPARED_DAILY)
    cache.set(SEEN, changes, seconds)
