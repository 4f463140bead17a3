from celery import shared_task

from annotation.candidates import generate, jobs


@shared_task
def write(candidate_id):
    """Write one answer; then call somebody to the next that waits."""
    if generate.write_one(candidate_id):
        jobs.ring()


@shared_task
def ring():
    """Every 20 s: rows that are due and nobody rang for, and those whose worker died."""
    jobs.ring()
