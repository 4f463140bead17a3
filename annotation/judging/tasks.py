from annotation.celery import app
from annotation.judging import claims
from annotation.judging.batches import open as opening
from annotation.judging.batches import preparation
from annotation.judging.curator import removal
from annotation.judging.work import queue


@app.task
def expire_leases() -> None:
    """Reopen slots whose lease has run out, until none is left."""
    while queue.expire():
        pass


@app.task
def pull_gold() -> None:
    claims.pull()


@app.task
def go_on_with_own_queries() -> None:
    """Ask for, pass and open answers where a study does so by itself."""
    preparation.go_on()


@app.task
def mail_owners(batch_id: int) -> None:
    opening.mail(batch_id)


@app.task
def remove_withdrawn() -> None:
    """Remove attributes whose words went with the history they came from."""
    removal.remove_withdrawn()
