"""Tables that layouts share: labels per item, every annotator's label, and what people say of
themselves.
"""

from annotation.datasets.records import Item
from annotation.datasets.soft_labels import SOFT, Posterior, soft
from annotation.datasets.writers import Table, TableRows

SOFT_COLUMNS: dict[str, str | list] = {
    "item_id": "text",
    "task": "text",
    "kind": "text",
    "n": "integer",
    "labels": SOFT,
    "adjudicated": "text",
}
ANNOTATION_COLUMNS: dict[str, str | list] = {
    "item_id": "text",
    "task": "text",
    "kind": "text",
    "worker": "text",
    "label": "text",
    "reason": "text",
    "seconds": "number",
    "submitted_at": "text",
}


PEOPLE = "people"
PEOPLE_COLUMNS: dict[str, str | list] = {"worker": "text", "question": "text", "answer": "text"}


def people_table(format: str) -> Table:
    """``people``: what of a person's answers about themselves is told, one row an answer."""
    return Table(f"{PEOPLE}.{format}", format, PEOPLE_COLUMNS, config=PEOPLE, whole=True)


def soft_tables(format: str) -> dict[str, Table]:
    """``soft_labels``, one row an item, and ``annotations``, one row a label of one annotator."""
    columns = {"soft_labels": SOFT_COLUMNS, "annotations": ANNOTATION_COLUMNS}
    return {
        name: Table(f"{name}.{format}", format, keys, config=name) for name, keys in columns.items()
    }


def soft_rows(item: Item, posterior: Posterior) -> TableRows:
    """The row of ``soft_labels`` of an item, where its votes are labels."""
    if item.labels and item.votes:
        row = {
            "item_id": item.id,
            "task": item.task,
            "kind": item.kind,
            "n": len(item.votes),
            "labels": soft(item, posterior),
            "adjudicated": item.adjudicated if isinstance(item.adjudicated, str) else None,
        }
        yield "soft_labels", row


def annotations(item: Item) -> TableRows:
    """The rows of ``annotations`` for the votes on an item whose answers are one label."""
    for vote in item.votes if item.labels else ():
        about = {"item_id": item.id, "task": item.task, "kind": item.kind, "worker": vote.worker}
        names = ("label", "reason", "seconds", "submitted_at")
        yield "annotations", about | {name: getattr(vote, name) for name in names}
