"""Claude: conversations.json with chat_messages, or messages in older exports."""

import re
from collections.abc import Iterator

from annotation.histories import times
from annotation.histories.formats.build import Draft, fields, identifier, objects
from annotation.histories.formats.streams import Entry, each
from annotation.histories.records import Record

# What stands in `text` for a block that has none, such as a call of a tool.
_NO_BLOCK = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```\s*")


def detect(entry: dict) -> str:
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
def read(entry: Entry) -> Iterator[Record]:
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
    for message in _path(objects(_listed(value))):
        draft.add(
            message.get("sender"),
            _text(message),
            message.get("created_at"),
            id=message.get("uuid"),
            attachments=[*objects(message.get("attachments")), *objects(message.get("files"))],
            model=message.get("model"),
        )
    yield draft.finish()


def _text(message: dict) -> str:
    """The text blocks: `text` differs and holds notes about blocks that cannot be shown."""
    blocks = [block for block in objects(message.get("content")) if block.get("type") == "text"]
    words = [block["text"] for block in blocks if isinstance(block.get("text"), str)]
    joined = "\n\n".join(word for word in words if word)
    whole = message.get("text")
    return joined or (_NO_BLOCK.sub("", whole) if isinstance(whole, str) else "")


def _path(messages: list[dict]) -> list[dict]:
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
