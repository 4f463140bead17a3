"""Google AI Studio: one prompt file of Drive, a chat in chunks."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, fields, objects
from annotation.histories.formats.streams import Entry, each
from annotation.histories.records import Record


def detect(entry: dict) -> str:
    """The name "aistudio" for an object with a chunkedPrompt."""
    return "aistudio" if isinstance(entry.get("chunkedPrompt"), dict) else ""


@each(detect)
def read(entry: Entry) -> Iterator[Record]:
    """One chat, without the model's thoughts."""
    draft = Draft("aistudio", entry.where, title=entry.value.get("title"))
    model = fields(entry.value.get("runSettings")).get("model")
    for chunk in objects(fields(entry.value["chunkedPrompt"]).get("chunks")):
        if not chunk.get("isThought"):
            answers = chunk.get("role") == "model"
            draft.add(
                chunk.get("role"),
                chunk.get("text"),
                chunk.get("createTime"),
                model=model if answers else "",
            )
    yield draft.finish()
