from annotation.candidates import calls, documents, retrieve, writing
from annotation.celery import app
from annotation.personas import conversations


@app.task
def write(candidate_id: str) -> None:
    """Write what is due with a pool, unless POOLS of them work; then notify of the rest."""
    with writing.place() as free:
        if free and writing.write_one(candidate_id):
            writing.work()
            calls.notify_of_calls()


@app.task
def notify_due() -> None:
    """Every 20 s: rows and files of documents that are due, also those whose worker died."""
    calls.notify_of_calls()
    documents.notify_unread()


@app.task(soft_time_limit=3_000, time_limit=3_060)
def read_documents(file_id: str) -> None:
    """Read one file of documents into its study's collection, then notify of the next."""
    if documents.read_file(int(file_id)):
        documents.notify_unread()


@app.task
def erase_withdrawn() -> None:
    """Forget what answers and pools of conversations keep of histories that were taken back."""
    retrieve.erase_withdrawn()
    conversations.forget_withdrawn()
    retrieve.erase_extracted()
