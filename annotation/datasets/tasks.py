import logging

from annotation.celery import app
from annotation.core import jobs
from annotation.core.errors import DomainError
from annotation.datasets import freeze, release_import

log = logging.getLogger(__name__)


# A million votes take minutes.
@app.task(name="annotation.datasets.tasks.build", soft_time_limit=3_000, time_limit=3_060)
def build(release_id: int) -> None:
    """Write one requested release, then notify of those that waited for it."""
    try:
        ended = freeze.build(release_id) is not None
    except DomainError as refusal:  # it is in the row
        ended = True
        log.info("release %s: %s", release_id, refusal.sentence)
    if ended:
        notify_due()


@app.task(name="annotation.datasets.tasks.notify_due")
def notify_due() -> None:
    """Notify workers of every release that nobody builds; called by beat."""
    for release_id in freeze.due():
        notify(release_id)


@app.task(name="annotation.datasets.tasks.import_upload", soft_time_limit=3_000, time_limit=3_060)
def import_upload(pk: str) -> None:
    """Import one uploaded release, then notify of those that waited for it."""
    if release_import.run(int(pk)):
        import_uploads()


@app.task(name="annotation.datasets.tasks.import_uploads")
def import_uploads() -> None:
    """Notify workers of every upload that nobody imports; called by beat."""
    for pk in release_import.due():
        jobs.enqueue(import_upload, pk)


def notify(release_id: int) -> None:
    jobs.enqueue(build, release_id)
