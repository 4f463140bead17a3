"""DeepSeek: conversations.json, a tree like ChatGPT's with fragments instead of content."""

from collections.abc import Iterator

from annotation.histories import texts
from annotation.histories.formats.build import Draft, fields, items, objects
from annotation.histories.formats.streams import Entry, each, holds
from annotation.histories.records import Record

_SPOKEN = ("REQUEST", "RESPONSE")


def detect(entry: dict) -> str:
    """The name "deepseek" for a tree of nodes with DeepSeek's name for the time of its creation."""
    return "deepseek" if isinstance(entry.get("mapping"), dict) and "inserted_at" in entry else ""


@each(holds("mapping", dict))
def read(entry: Entry) -> Iterator[Record]:
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
    for name, node in _path(value["mapping"]):
        _add(draft, name, fields(node.get("message")))
    yield draft.finish()


def _path(mapping: dict) -> Iterator[tuple[str, dict]]:
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    roots = (name for name, node in nodes.items() if not node.get("parent"))
    name = "root" if "root" in nodes else next(roots, None)
    while name is not None:
        node = nodes.pop(name)
        yield name, node
        children = (c for c in reversed(items(node.get("children"))) if isinstance(c, str))
        name = next((child for child in children if child in nodes), None)


def _add(draft: Draft, name: str, message: dict) -> None:
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
