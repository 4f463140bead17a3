"""Tables that layouts share: labels per item, every annotator's label, and what people say of
themselves.
"""

from collections.abc import Callable

from annotation.datasets.columns import Columns
from annotation.datasets.records import Chunk, Item
from annotation.datasets.soft_labels import SOFT, Posterior, Posteriors, soft, soft_columns
from annotation.datasets.writers import Table, TableColumns, TableRows

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


def annotations(chunk: Chunk, wanted: Callable | None = None) -> TableColumns:
    """The rows of ``annotations`` for the votes on the ``wanted`` items of a chunk."""
    chosen = chunk.votes_on(wanted)
    texts = chosen.votes.columns.texts
    rows = chosen.spread("item_id", "task", "kind") | {
        "worker": texts["worker"],
        # An answer that is one label.
        "label": texts["answer"],
        **{name: texts[name] for name in ("reason", "seconds", "submitted_at")},
    }
    yield "annotations", Columns(rows)


def soft_table(chunk: Chunk, posteriors: Posteriors) -> TableColumns:
    """The rows of ``soft_rows`` of all items of a chunk."""
    items, labels = soft_columns(chunk, posteriors)
    if len(items):
        texts = chunk.columns.take(items).texts | labels
        yield "soft_labels", Columns({name: texts[name] for name in SOFT_COLUMNS})
