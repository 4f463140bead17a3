"""Chat services with one file each: Claude, DeepSeek, Copilot, Grok, Le Chat."""

import re
from collections.abc import Iterator

from annotation.histories import texts, times
from annotation.histories.formats.build import (
    Draft,
    Spill,
    digest,
    fields,
    identifier,
    items,
    objects,
)
from annotation.histories.formats.streams import Entry, Table, each, holds
from annotation.histories.records import Record, Skipped, skipped

# What stands in `text` for a block that has none, such as a call of a tool.
_NO_BLOCK = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```\s*")


def detect_claude(entry: dict) -> str:
    """The name "claude" for a conversation with uuid and messages that have a sender."""
    if "uuid" not in entry:
        return ""
    older = any("sender" in message for message in objects(entry.get("messages")))
    return "claude" if isinstance(entry.get("chat_messages"), list) or older else ""


def _listed(value: dict) -> list | None:
    """The messages under today's name or the older one."""
    named = (value.get("chat_messages"), value.get("messages"))
    return next((listed for listed in named if isinstance(listed, list)), None)


@each(lambda value: _listed(value) is not None)
def read_claude(entry: Entry) -> Iterator[Record]:
    """One conversation, of the account that it names."""
    value = entry.value
    draft = Draft(
        "claude",
        entry.where,
        id=identifier(value.get("uuid"), value.get("id")),
        title=value.get("name") or value.get("title"),
        created=value.get("created_at"),
        updated=value.get("updated_at"),
        account=fields(value.get("account")).get("uuid"),
    )
    for message in _path_claude(objects(_listed(value))):
        draft.add(
            message.get("sender"),
            _text_claude(message),
            message.get("created_at"),
            id=message.get("uuid"),
            attachments=[*objects(message.get("attachments")), *objects(message.get("files"))],
            model=message.get("model"),
        )
    yield draft.finish()


def _text_claude(message: dict) -> str:
    """The text blocks: `text` differs and holds notes about blocks that cannot be shown."""
    blocks = [block for block in objects(message.get("content")) if block.get("type") == "text"]
    words = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    joined = "\n\n".join(word for word in words if word)
    whole = message.get("text")
    return joined or (_NO_BLOCK.sub("", whole) if isinstance(whole, str) else "")


def _path_claude(messages: list[dict]) -> list[dict]:
    """Retries make a tree and no leaf is marked: upwards from the newest message."""
    by_id = {identifier(message.get("uuid")): message for message in messages}
    by_id.pop("", None)
    ages = [times.moment(message.get("created_at")).at for message in messages]
    if not any(identifier(m.get("parent_message_uuid")) in by_id for m in messages):
        # Without a time there is no order to put them in but their own.
        in_time = zip(ages, range(len(messages)), strict=True)
        return messages if None in ages else [messages[place] for _, place in sorted(in_time)]
    seconds = [at.timestamp() if at else 0.0 for at in ages]
    newest = max(range(len(messages)), key=lambda n: (seconds[n], n))
    path: list[dict] = []
    message: dict | None = messages[newest]
    while message is not None:
        path.append(message)
        by_id.pop(identifier(message.get("uuid")), None)
        message = by_id.get(identifier(message.get("parent_message_uuid")))
    if path[-1].get("parent_message_uuid") is None:
        # Older exports name no parents: messages before the first parent keep the file's order.
        path += reversed(_without_parents(messages, path[-1]))
    return path[::-1]


def _without_parents(messages: list[dict], first: dict) -> list[dict]:
    """The messages that stand before `first` and tell no parent, as it tells none."""
    place = next(n for n, message in enumerate(messages) if message is first)
    return [m for m in messages[:place] if m.get("parent_message_uuid") is None]


_SPOKEN = ("REQUEST", "RESPONSE")


def detect_deepseek(entry: dict) -> str:
    """The name "deepseek" for a tree of nodes with DeepSeek's name for the time of its creation."""
    return "deepseek" if isinstance(entry.get("mapping"), dict) and "inserted_at" in entry else ""


@each(holds("mapping", dict))
def read_deepseek(entry: Entry) -> Iterator[Record]:
    """One conversation: from the root always the last child, since no node is marked current."""
    value = entry.value
    draft = Draft(
        "deepseek",
        entry.where,
        id=value.get("id"),
        title=value.get("title"),
        created=value.get("inserted_at"),
        updated=value.get("updated_at"),
    )
    for name, node in _path_deepseek(value["mapping"]):
        _add_deepseek(draft, name, fields(node.get("message")))
    yield draft.finish()


def _path_deepseek(mapping: dict) -> Iterator[tuple[str, dict]]:
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    roots = (name for name, node in nodes.items() if not node.get("parent"))
    name = "root" if "root" in nodes else next(roots, None)
    while name is not None:
        node = nodes.pop(name)
        yield name, node
        children = (c for c in reversed(items(node.get("children"))) if isinstance(c, str))
        name = next((child for child in children if child in nodes), None)


def _add_deepseek(draft: Draft, name: str, message: dict) -> None:
    fragments = objects(message.get("fragments"))
    spoken = [part for part in fragments if part.get("type") in _SPOKEN]
    files = [*objects(message.get("files")), *(p for p in fragments if p.get("type") == "FILE")]
    if spoken or fragments:
        role = spoken[0]["type"] if spoken else "user"
        words = [part["content"] for part in spoken if isinstance(part.get("content"), str)]
        text = "\n\n".join(words)
    else:
        # Exports before fragments.
        role, text = message.get("role"), texts.clean(message.get("content"))
    draft.add(
        role,
        text,
        message.get("inserted_at"),
        id=name,
        attachments=files,
        model=message.get("model"),
    )


HEADER = ["conversation", "time", "author", "message"]


def detect_copilot(header: list[str]) -> str:
    """The name "copilot" for its four columns, in any order and beside others."""
    return "copilot" if set(HEADER) <= set(header) else ""


def read_copilot(table: Table) -> Iterator[Record]:
    """All conversations. The title is all that holds one together, so equal titles merge.

    Question and answer share one second: the file is reversed, not sorted.
    """
    spill = Spill()
    turns: dict[str, list[int]] = {}
    where: dict[str, str] = {}
    for entry in table.rows():
        title, *message = (entry.value.get(name, "") for name in HEADER)
        where.setdefault(title, entry.where)
        turns.setdefault(title, []).append(spill.put(*message))
    for title, keys in turns.items():
        draft = Draft("copilot", where[title], id=digest("copilot", title), title=title)
        for key in reversed(keys):
            time, author, text = spill.get(key)
            draft.add(author, text, time)
        yield draft.finish()


def detect_grok(entry: dict) -> str:
    """The name "grok" for an entry with responses."""
    return "grok" if isinstance(entry.get("responses"), list) else ""


@each(detect_grok)
def read_grok(entry: Entry) -> Iterator[Record]:
    """One conversation, in the order of its responses."""
    about = fields(entry.value.get("conversation"))
    draft = Draft(
        "grok",
        entry.where,
        id=identifier(about.get("id"), about.get("_id")),
        title=about.get("title"),
        created=about.get("create_time"),
        updated=about.get("modify_time"),
    )
    for response in objects(entry.value.get("responses")):
        # A flat variant has no inner object.
        response = response["response"] if isinstance(response.get("response"), dict) else response
        draft.add(
            response.get("sender"),
            response.get("message"),
            response.get("create_time"),
            id=identifier(response.get("_id"), response.get("id")),
            attachments=items(response.get("file_attachments")),
            model=response.get("model"),
        )
    yield draft.finish()


def detect_lechat(entry: dict) -> str:
    """The name "lechat" for a message that names its chat and has chunks."""
    return "lechat" if "chatId" in entry and "contentChunks" in entry else ""


def read_lechat(entries: Iterator[Entry | Skipped]) -> Iterator[Record]:
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
            chat, at, values = _message_lechat(entry.value)
            chats.setdefault(chat, []).append((at, spill.put(*values)))
    for chat, messages in chats.items():
        draft = Draft("lechat", where, id=chat)
        for _, key in sorted(messages):
            role, text, at, name, attachments, model = spill.get(key)
            draft.add(role, text, at, id=name, attachments=attachments, model=model)
        yield draft.finish()


def _message_lechat(value: dict) -> tuple[str, float, tuple]:
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
