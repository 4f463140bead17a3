"""OpenAI's message lists, as JSON or JSON lines."""

from collections.abc import Iterator

from annotation.histories.formats.build import Draft, identifier, objects
from annotation.histories.formats.streams import Entry, each, holds
from annotation.histories.records import Record

_FILES = ("image_url", "input_image", "image", "input_audio", "file", "input_file")
_WORDS = ("text", "input_text", "output_text")


def detect(entry: dict) -> str:
    """The name "openai_messages" for an object whose messages have roles."""
    has_roles = any("role" in message for message in objects(entry.get("messages")))
    return "openai_messages" if has_roles else ""


@each(holds("messages", list))
def read(entry: Entry) -> Iterator[Record]:
    """One conversation; turns of tools are left out, and images count by their kind alone."""
    value = entry.value
    name = identifier(value.get("id"), value.get("conversation_id"))
    draft = Draft("openai_messages", entry.where, id=name, title=value.get("title"))
    for message in objects(value["messages"]):
        text, files = _content(message.get("content"))
        draft.add(message.get("role"), text, attachments=files, model=value.get("model"))
    yield draft.finish()


def _content(content: object) -> tuple[str, list[str]]:
    if isinstance(content, str):
        return content, []
    parts = objects(content)
    words = [part.get("text") for part in parts if part.get("type") in _WORDS]
    files = [part["type"] for part in parts if part.get("type") in _FILES]
    return "\n".join(word for word in words if isinstance(word, str)), files
