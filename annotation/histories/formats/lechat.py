"""Mistral Le Chat: one file a chat, a bare array of its messages."""

from collections.abc import Iterator

from annotation.histories import times
from annotation.histories.formats.build import Draft, Spill, identifier, objects
from annotation.histories.formats.streams import Entry
from annotation.histories.records import Record, Skipped, skipped


def detect(entry: dict) -> str:
    """The name "lechat" for a message that names its chat and has chunks."""
    return "lechat" if "chatId" in entry and "contentChunks" in entry else ""


def read(entries: Iterator[Entry | Skipped]) -> Iterator[Record]:
    """The chats of a file, their messages sorted by time."""
    spill, where = Spill(), ""
    chats: dict[str, list[tuple]] = {}
    for entry in entries:
        if isinstance(entry, Skipped):
            yield entry
        elif not isinstance(entry.value, dict) or "chatId" not in entry.value:
            yield skipped(entry.where, "junk")
        else:
            where = where or entry.where
            chat, at, values = _message(entry.value)
            chats.setdefault(chat, []).append((at, spill.put(*values)))
    for chat, messages in chats.items():
        draft = Draft("lechat", where, id=chat)
        for _, key in sorted(messages):
            role, text, at, name, attachments, model = spill.get(key)
            draft.add(role, text, at, id=name, attachments=attachments, model=model)
        yield draft.finish()


def _message(value: dict) -> tuple[str, float, tuple]:
    chunks = objects(value.get("contentChunks"))
    spoken = [chunk["text"] for chunk in chunks if _is_text(chunk)]
    content = value.get("content")
    text = content if isinstance(content, str) else ""
    shown = [{"name": "image"} for chunk in chunks if chunk.get("type") == "image_url"]
    at = times.moment(value.get("createdAt")).at
    return (
        identifier(value.get("chatId")),
        at.timestamp() if at else 0.0,
        (
            value.get("role"),
            text if text.strip() else "".join(spoken),
            value.get("createdAt"),
            identifier(value.get("id")),
            [*objects(value.get("files")), *shown],
            value.get("model"),
        ),
    )


def _is_text(chunk: dict) -> bool:
    return chunk.get("type") == "text" and isinstance(chunk.get("text"), str)
