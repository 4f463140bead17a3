"""ShareGPT, and ShareGPT-Chinese-English-90k with its pairs."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, objects
from annotation.histories.formats.streams import Entry, each, holds
from annotation.histories.records import Record


def detect(entry: dict) -> str:
    """The name "sharegpt" for turns with from and value."""
    turns = objects(entry.get("conversations"))
    return "sharegpt" if any("from" in turn for turn in turns) else ""


@each(holds("conversations", list))
def read(entry: Entry) -> Iterator[Record]:
    """One conversation; its texts are kept as they are, HTML included."""
    draft = Draft("sharegpt", entry.where, id=entry.value.get("id"))
    for turn in objects(entry.value["conversations"]):
        draft.add(turn.get("from"), turn.get("value"), model=turn.get("model"))
    yield draft.finish()


def detect_pairs(entry: dict) -> str:
    """The name "sharegpt_90k" for elements that hold a question and its answer."""
    turns = objects(entry.get("conversation"))
    return "sharegpt_90k" if any("human" in turn for turn in turns) else ""


@each(holds("conversation", list))
def read_pairs(entry: Entry) -> Iterator[Record]:
    draft = Draft("sharegpt_90k", entry.where, id=entry.value.get("conversation_id"))
    for pair in objects(entry.value["conversation"]):
        draft.add("human", pair.get("human"))
        draft.add("assistant", pair.get("assistant"))
    yield draft.finish()
