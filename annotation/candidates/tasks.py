from annotation.candidates import calls, erase, generate
from annotation.celery import app


@app.task
def write(candidate_id):
    """Write one answer; then call somebody to the next that waits."""
    if generate.write_one(candidate_id):
        calls.ring()


@app.task
def ring():
    """Every 20 s: rows that are due and nobody rang for, and those whose worker died."""
    calls.ring()


@app.task
def erase_withdrawn():
    """Forget what answers keep of histories that were taken back."""
    erase.erase_withdrawn()
