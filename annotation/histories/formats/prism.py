"""PRISM's conversations.jsonl: several models answer, and the chosen answer goes on."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, objects
from annotation.histories.formats.streams import Entry, each
from annotation.histories.records import Record


def detect(entry: dict) -> str:
    """The name "prism" for a row with a conversation_history."""
    return "prism" if isinstance(entry.get("conversation_history"), list) else ""


@each(detect)
def read(entry: Entry) -> Iterator[Record]:
    """One conversation with the answers that were chosen."""
    row = entry.value
    draft = Draft(
        "prism", entry.where, id=row.get("conversation_id"), created=row.get("generated_datetime")
    )
    for turn in objects(row["conversation_history"]):
        if turn.get("role") != "model" or turn.get("if_chosen") is True:
            draft.add(turn.get("role"), turn.get("content"), model=turn.get("model_name"))
    yield draft.finish()
