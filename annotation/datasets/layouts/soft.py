"""Tables that layouts share: the distribution of labels per item, and every annotator's label."""

from annotation.datasets.soft_labels import SOFT, soft
from annotation.datasets.writers import Table

SOFT_COLUMNS = {
    "item_id": "text",
    "task": "text",
    "kind": "text",
    "n": "integer",
    "labels": SOFT,
    "adjudicated": "text",
}
ANNOTATION_COLUMNS = {
    "item_id": "text",
    "task": "text",
    "kind": "text",
    "worker": "text",
    "label": "text",
    "reason": "text",
    "seconds": "number",
    "submitted_at": "text",
}


def soft_tables(format: str) -> dict[str, Table]:
    """``soft_labels``, one row an item, and ``annotations``, one row a label of one annotator."""
    columns = {"soft_labels": SOFT_COLUMNS, "annotations": ANNOTATION_COLUMNS}
    return {
        name: Table(f"{name}.{format}", format, keys, config=name) for name, keys in columns.items()
    }


def soft_rows(item, posterior):
    """The rows of both for an item, where its votes are labels."""
    if not item.labels or not item.votes:
        return
    yield "soft_labels", soft_row(item, posterior)
    for vote in item.votes:
        row = {
            "worker": vote.worker,
            "label": vote.label,
            "reason": vote.reason,
            "seconds": vote.seconds,
            "submitted_at": vote.submitted_at,
        }
        yield "annotations", _common(item) | row


def soft_row(item, posterior) -> dict:
    """The row of ``soft_labels`` of an item with votes that are labels."""
    return _common(item) | {
        "n": len(item.votes),
        "labels": soft(item, posterior),
        "adjudicated": item.adjudicated if isinstance(item.adjudicated, str) else None,
    }


def _common(item) -> dict:
    return {"item_id": item.id, "task": item.task, "kind": item.kind}
