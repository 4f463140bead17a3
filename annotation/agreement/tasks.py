import logging

from annotation.agreement import recompute
from annotation.agreement.votes.table import VotesError
from annotation.celery import app

log = logging.getLogger(__name__)


@app.task
def recompute_due():
    """Bring every result up to date with the votes; what stops one does not stop the others."""
    for study, task in recompute.due():
        try:
            recompute.recompute(study, task)
        except VotesError as error:
            log.error("Study %s, task %s is not computed: %s", study.slug, task, error)
