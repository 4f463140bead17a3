from uuid import UUID

from annotation.celery import app
from annotation.core import jobs
from annotation.histories import collection, erase, ingest

# The time of one turn, so that others of a worker's tasks are not kept waiting.
LOOK_SECONDS = 10


# A gigabyte takes minutes; an hour is when the broker would hand the task out again.
@app.task(name="annotation.histories.tasks.read_upload", soft_time_limit=3_000, time_limit=3_060)
def read_upload(upload_id: str) -> None:
    """Read one requested upload, then notify of those that waited for it."""
    if ingest.run(upload_id):
        notify_uploads()


@app.task(name="annotation.histories.tasks.notify_uploads")
def notify_uploads() -> None:
    """Every 20 s: uploads that nobody reads, and erasures that had to wait."""
    erase.go_on()
    for upload_id in ingest.uploads_due():
        notify(upload_id)


@app.task(name="annotation.histories.tasks.look_again")
def look_again() -> None:
    """Every minute: some of the sessions that older rules looked through."""
    ingest.look_again(LOOK_SECONDS)


@app.task(name="annotation.histories.tasks.rewrite_tables")
def rewrite_tables() -> None:
    """Every hour: the tables of which something was erased, once a day."""
    if erase.is_due():
        erase.rewrite()


@app.task(name="annotation.histories.tasks.remind")
def remind() -> None:
    """Every hour: people whose days of history are missing, each now and then."""
    collection.remind()


def notify(upload_id: UUID | str) -> None:
    jobs.enqueue(read_upload, upload_id)
