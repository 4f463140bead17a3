from annotation.celery import app
from annotation.core import jobs
from annotation.webhooks import deliver


@app.task(name="annotation.webhooks.tasks.collect")
def collect() -> None:
    """Make messages of new events and notify workers of those to send; called by beat."""
    deliver.collect()
    for delivery in deliver.deliveries_due():
        jobs.enqueue(send, delivery)


@app.task(name="annotation.webhooks.tasks.send", soft_time_limit=25, time_limit=30)
def send(delivery_id: str) -> None:
    if following := deliver.send(delivery_id):
        jobs.enqueue(send, following)
