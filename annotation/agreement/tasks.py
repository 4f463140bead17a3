from celery import shared_task

from annotation.agreement import recompute


@shared_task
def recompute_due():
    """Bring every result up to date with the votes."""
    for study, task in recompute.due():
        recompute.recompute(study, task)
