"""WildChat: rows with the conversation, its turns without the address of who wrote them."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, identifier, objects, role_of
from annotation.histories.formats.streams import Entry, each, holds
from annotation.histories.records import Record


def detect(entry: dict) -> str:
    """The name "wildchat" for a row with turns and a hash or, in the first release, a time."""
    turns = objects(entry.get("conversation"))
    dated = "conversation_hash" in entry or "timestamp" in entry
    return "wildchat" if dated and any("role" in turn for turn in turns) else ""


@each(holds("conversation", list))
def read(entry: Entry) -> Iterator[Record]:
    """One row. Turns without a time of their own take the row's."""
    row = entry.value
    draft = Draft(
        "wildchat",
        entry.where,
        id=identifier(row.get("conversation_hash"), row.get("conversation_id")),
        updated=row.get("timestamp"),
    )
    for turn in objects(row.get("conversation")):
        at = turn.get("timestamp") or row.get("timestamp")
        role = role_of(turn.get("role"))
        name = identifier(turn.get("turn_identifier"))
        draft.add(
            role,
            turn.get("content"),
            at,
            # A question and its answer share the turn's number.
            id=name and f"{name}-{role}",
            model=row.get("model") if role == "assistant" else "",
        )
    yield draft.finish()
