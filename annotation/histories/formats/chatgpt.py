"""ChatGPT: conversations.json, its shards, the copy inside chat.html; OpenAI's message lists."""

from collections.abc import Iterator

from annotation.histories import times
from annotation.histories.formats.build import (
    Draft,
    fields,
    identifier,
    items,
    names,
    objects,
    role_of,
)
from annotation.histories.formats.streams import Document, Entry, Text, each, holds
from annotation.histories.records import Record, Refused, skipped

_SHOWN = ("text", "multimodal_text", "code")
_UNSEEN = (
    "execution_output", "system_error", "thoughts", "reasoning_recap", "tether_quote",
    "tether_browsing_display", "sonic_webpage", "computer_output", "citable_code_output",
    "user_editable_context", "model_editable_context",
)  # fmt: skip
_MARK = "var jsonData"


def detect_chatgpt(entry: dict) -> str:
    """The name "chatgpt" for a conversation with a tree of nodes."""
    return "chatgpt" if isinstance(entry.get("mapping"), dict) else ""


@each(holds("mapping", dict))
def read_chatgpt(entry: Entry) -> Iterator[Record]:
    """One conversation: the path from its current node up to the root."""
    value = entry.value
    draft = Draft(
        "chatgpt",
        entry.where,
        id=identifier(value.get("conversation_id"), value.get("id")),
        title=value.get("title"),
        created=value.get("create_time"),
        updated=value.get("update_time"),
    )
    unknown = False
    for node in _path(value["mapping"], value.get("current_node")):
        message = fields(node.get("message"))
        kind = fields(message.get("content")).get("content_type", "text")
        unknown |= bool(message) and kind not in _SHOWN and kind not in _UNSEEN
        if _is_shown(message, kind):
            _add(draft, message)
    if unknown:
        yield skipped(entry.where, "unknown_content")
    yield draft.finish()


def _path(mapping: dict, current: object) -> list[dict]:
    """The nodes from the root to `current`, or to the newest leaf where that is no node."""
    if not isinstance(current, str) or not isinstance(mapping.get(current), dict):
        current = _newest_leaf(mapping)
    nodes, seen = [], set()
    while isinstance(current, str) and current not in seen:
        seen.add(current)
        node = mapping.get(current)
        if not isinstance(node, dict):
            break
        nodes.append(node)
        current = node.get("parent")
    return nodes[::-1]


def _newest_leaf(mapping: dict) -> str | None:
    def age(name: str) -> float:
        at = times.moment(fields(mapping[name].get("message")).get("create_time")).at
        return at.timestamp() if at else 0.0

    nodes = [name for name, node in mapping.items() if isinstance(node, dict)]
    leaves = [name for name in nodes if not items(mapping[name].get("children"))]
    # Of equally old ones the last.
    return max(reversed(leaves or nodes), key=age, default=None)


def _is_shown(message: dict, kind: object) -> bool:
    metadata = fields(message.get("metadata"))
    return (
        kind in _SHOWN
        and not metadata.get("is_visually_hidden_from_conversation")
        and not metadata.get("is_user_system_message")
        and message.get("recipient", "all") in ("all", None)
    )


def _add(draft: Draft, message: dict) -> None:
    content, metadata = fields(message.get("content")), fields(message.get("metadata"))
    role = fields(message.get("author")).get("role")
    attached = objects(metadata.get("attachments"))
    if role_of(role):
        text, pointed = _parts(content)
        ids = {identifier(file.get("id")) for file in attached}
        draft.add(
            role,
            text,
            message.get("create_time"),
            id=message.get("id"),
            # A file that is also attached has its name there.
            attachments=[*attached, *(name for name in pointed if name not in ids)],
            model=metadata.get("model_slug"),
        )


def _parts(content: dict) -> tuple[str, tuple[str, ...]]:
    """A message's text, and the ids of the files that stand between its parts."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text")]
    words, pointed = [], []
    for part in parts:
        spoken = part.get("text") if isinstance(part, dict) else part
        if isinstance(spoken, str):
            words.append(spoken)
        elif isinstance(part, dict):
            pointed += _pointers(part)
    return "\n".join(word for word in words if word), names(pointed)


def _pointers(part: dict) -> list[str]:
    """`file-service://file-A` and `sediment://file_B` name files; voice and video hold several."""
    pointers = [part.get("asset_pointer")]
    for key in ("audio_asset_pointer", "video_container_asset_pointer"):
        inner = part.get(key)
        pointers.append(fields(inner).get("asset_pointer") if isinstance(inner, dict) else inner)
    return [name.rpartition("//")[2] for name in pointers if isinstance(name, str)]


def detect_chatgpt_page(head: str) -> str:
    """The name "chatgpt" for a page that holds the export as a script."""
    return "chatgpt" if _MARK in head else ""


def read_chatgpt_page(text: Text) -> Iterator[Record]:
    """The conversations in chat.html: one JSON value after `var jsonData =`."""
    begun = ""
    while _MARK not in begun or "=" not in begun.partition(_MARK)[2]:
        piece = text.read()
        if not piece:
            raise Refused("truncated_json")
        begun = begun[-len(_MARK) - 100 :] + piece
    script = begun.partition(_MARK)[2].partition("=")[2]
    yield from read_chatgpt(Document(text, script, open_end=True).entries())


_FILES = ("image_url", "input_image", "image", "input_audio", "file", "input_file")
_WORDS = ("text", "input_text", "output_text")


def detect_messages(entry: dict) -> str:
    """The name "openai_messages" for an object whose messages have roles."""
    has_roles = any("role" in message for message in objects(entry.get("messages")))
    return "openai_messages" if has_roles else ""


@each(holds("messages", list))
def read_messages(entry: Entry) -> Iterator[Record]:
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
