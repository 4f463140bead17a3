from annotation.agreement import recompute
from annotation.celery import app


@app.task
def recompute_due():
    """Bring every result up to date with the votes."""
    for study, task in recompute.due():
        recompute.recompute(study, task)
