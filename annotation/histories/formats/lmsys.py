"""LMSYS-Chat-1M, and Chatbot Arena's rows with two conversations."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, identifier, objects
from annotation.histories.formats.streams import Entry, each, holds
from annotation.histories.records import Record


def detect(entry: dict) -> str:
    """The name "lmsys" for a row of turns with roles and without a time."""
    turns = objects(entry.get("conversation"))
    return "lmsys" if any("role" in turn for turn in turns) else ""


@each(holds("conversation", list))
def read(entry: Entry) -> Iterator[Record]:
    """One row: one conversation."""
    row = entry.value
    name = identifier(row.get("conversation_id"))
    yield _conversation("lmsys", entry, name, row["conversation"], row.get("model"))


def detect_arena(entry: dict) -> str:
    """The name "chatbot_arena" for a battle of two models."""
    both = (entry.get("conversation_a"), entry.get("conversation_b"))
    return "chatbot_arena" if all(isinstance(side, list) for side in both) else ""


@each(detect_arena)
def read_arena(entry: Entry) -> Iterator[Record]:
    """One battle: a conversation with each of its models."""
    row = entry.value
    for side in "ab":
        name = identifier(row.get("question_id"))
        yield _conversation(
            "chatbot_arena",
            entry,
            f"{name}-{side}" if name else "",
            row[f"conversation_{side}"],
            row.get(f"model_{side}"),
            row.get("tstamp"),
        )


def _conversation(
    provider: str, entry: Entry, name: str, turns: object, model: object, at: object = None
) -> Record:
    draft = Draft(provider, entry.where, id=name, created=at)
    for turn in objects(turns):
        answers = turn.get("role") == "assistant"
        draft.add(turn.get("role"), turn.get("content"), at, model=model if answers else "")
    return draft.finish()
