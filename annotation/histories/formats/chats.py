"""Conversations with assistants: the exports of services, and the public corpora."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from annotation.histories import texts
from annotation.histories.formats.build import (
    Draft,
    Entry,
    Layout,
    Spill,
    each,
    fields,
    identifier,
    items,
    made_id,
    names,
    objects,
    role_of,
)
from annotation.histories.formats.streams import Document, Table, Text
from annotation.histories.records import Conversation, Record, Refused, Search, Skipped, skipped

# --- ChatGPT: conversations.json, its shards, the copy inside chat.html --------------------------

_SHOWN = ("text", "multimodal_text", "code")
_UNSEEN = (
    "execution_output", "system_error", "thoughts", "reasoning_recap", "tether_quote",
    "tether_browsing_display", "sonic_webpage", "computer_output", "citable_code_output",
    "user_editable_context", "model_editable_context",
)  # fmt: skip
_MARK = "var jsonData"


def is_chatgpt(entry: dict) -> bool:
    """Whether it is a conversation with a tree of nodes."""
    return isinstance(entry.get("mapping"), dict)


@each(is_chatgpt)
def read_chatgpt(entry: Entry) -> Iterator[Record]:
    """One conversation: the path from its current node up to the root."""
    if any(message and _kind(message) not in (*_SHOWN, *_UNSEEN) for message in _path(entry.value)):
        yield skipped(entry.where, "unknown_content")
    yield from CHATGPT.read(entry)


def _kind(message: dict) -> object:
    return fields(message.get("content")).get("content_type", "text")


def _chatgpt_turns(value: dict) -> Iterator[dict]:
    for message in _path(value):
        metadata = fields(message.get("metadata"))
        role = fields(message.get("author")).get("role")
        if _is_shown(message) and role_of(role):
            text, pointed = _parts(fields(message.get("content")))
            attached = objects(metadata.get("attachments"))
            ids = {identifier(file.get("id")) for file in attached}
            yield message | {
                "role": role,
                "text": text,
                # A file that is also attached has its name there.
                "files": [*attached, *(name for name in pointed if name not in ids)],
                "model": metadata.get("model_slug"),
            }


CHATGPT = Layout(
    "chatgpt",
    _chatgpt_turns,
    id="conversation_id id",
    created="create_time",
    updated="update_time",
    at="create_time",
    turn_id="id",
)


def _path(value: dict) -> list[dict]:
    """The messages from the root to the current node, or to the newest leaf without one."""
    mapping, current = value["mapping"], value.get("current_node")
    if not isinstance(current, str) or not isinstance(mapping.get(current), dict):
        current = _newest_leaf(mapping)
    messages, seen = [], set()
    while isinstance(current, str) and current not in seen:
        seen.add(current)
        node = mapping.get(current)
        if not isinstance(node, dict):
            break
        messages.append(fields(node.get("message")))
        current = node.get("parent")
    return messages[::-1]


def _newest_leaf(mapping: dict) -> str | None:
    def age(name: str) -> float:
        return texts.seconds(fields(mapping[name].get("message")).get("create_time"))

    nodes = [name for name, node in mapping.items() if isinstance(node, dict)]
    leaves = [name for name in nodes if not items(mapping[name].get("children"))]
    # Of equally old ones the last.
    return max(reversed(leaves or nodes), key=age, default=None)


def _is_shown(message: dict) -> bool:
    metadata = fields(message.get("metadata"))
    return (
        _kind(message) in _SHOWN
        and not metadata.get("is_visually_hidden_from_conversation")
        and not metadata.get("is_user_system_message")
        and message.get("recipient", "all") in ("all", None)
    )


def _parts(content: dict) -> tuple[str, tuple[str, ...]]:
    """A message's text, and the ids of the files that stand between its parts."""
    parts = content.get("parts")
    words, pointed = [], []
    for part in parts if isinstance(parts, list) else [content.get("text")]:
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


def is_messages(entry: dict) -> bool:
    return any("role" in message for message in objects(entry.get("messages")))


def _message_turns(value: dict) -> Iterator[dict]:
    """Turns of tools are left out, and images count by their kind alone."""
    for message in objects(value["messages"]):
        text, files = _content(message.get("content"))
        yield message | {"text": text, "files": files, "model": value.get("model")}


MESSAGES = Layout("openai_messages", _message_turns, id="id conversation_id")


def _content(content: object) -> tuple[str, list[str]]:
    if isinstance(content, str):
        return content, []
    parts = objects(content)
    words = [part.get("text") for part in parts if part.get("type") in _WORDS]
    files = [part["type"] for part in parts if part.get("type") in _FILES]
    return "\n".join(word for word in words if isinstance(word, str)), files


def _is_text(block: dict) -> bool:
    """Whether it is a block, or chunk, of text: of Claude and of Le Chat."""
    return block.get("type") == "text" and isinstance(block.get("text"), str)


# --- Claude ---------------------------------------------------------------------------------------

# What stands in `text` for a block that has none, such as a call of a tool.
_NO_BLOCK = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```\s*")


def is_claude(entry: dict) -> bool:
    """Whether it is a conversation with uuid and messages that have a sender."""
    older = any("sender" in message for message in objects(entry.get("messages")))
    return "uuid" in entry and (isinstance(entry.get("chat_messages"), list) or older)


def _claude_turns(value: dict) -> Iterator[dict]:
    # The messages under today's name or the older one.
    listed = value.get("chat_messages")
    listed = listed if isinstance(listed, list) else value.get("messages")
    for message in _path_claude(objects(listed)):
        files = [*objects(message.get("attachments")), *objects(message.get("files"))]
        yield message | {"text": _text_claude(message), "files": files}


CLAUDE = Layout(
    "claude",
    _claude_turns,
    id="uuid id",
    title="name title",
    created="created_at",
    updated="updated_at",
    role="sender",
    at="created_at",
    turn_id="uuid",
)


def _text_claude(message: dict) -> str:
    """The text blocks: `text` differs and holds notes about blocks that cannot be shown."""
    blocks = filter(_is_text, objects(message.get("content")))
    joined = "\n\n".join(block["text"] for block in blocks if block["text"])
    whole = message.get("text")
    return joined or (_NO_BLOCK.sub("", whole) if isinstance(whole, str) else "")


def _path_claude(messages: list[dict]) -> list[dict]:
    """Retries make a tree and no leaf is marked: upwards from the newest message."""
    by_id = {identifier(message.get("uuid")): message for message in messages}
    by_id.pop("", None)
    ages = [texts.moment(message.get("created_at")).at for message in messages]
    if not any(identifier(m.get("parent_message_uuid")) in by_id for m in messages):
        # Without a time there is no order to put them in but their own.
        in_time = zip(ages, range(len(messages)), strict=True)
        return messages if None in ages else [messages[place] for _, place in sorted(in_time)]
    path: list[dict] = []
    # Of equally old ones the last.
    message: dict | None = max(reversed(messages), key=lambda m: texts.seconds(m.get("created_at")))
    while message is not None:
        path.append(message)
        by_id.pop(identifier(message.get("uuid")), None)
        message = by_id.get(identifier(message.get("parent_message_uuid")))
    first = path[-1]
    if first.get("parent_message_uuid") is None:
        # Older exports name no parents: messages before the first parent keep the file's order.
        before = itertools.takewhile(lambda m: m is not first, messages)
        path += reversed([m for m in before if m.get("parent_message_uuid") is None])
    return path[::-1]


# --- DeepSeek -------------------------------------------------------------------------------------

_SPOKEN = ("REQUEST", "RESPONSE")


def is_deepseek(entry: dict) -> bool:
    """Whether it is a tree of nodes with DeepSeek's name for the time of its creation."""
    return is_chatgpt(entry) and "inserted_at" in entry


def _deepseek_turns(value: dict) -> Iterator[dict]:
    for name, node in _path_deepseek(value["mapping"]):
        message = fields(node.get("message"))
        fragments = objects(message.get("fragments"))
        spoken = [part for part in fragments if part.get("type") in _SPOKEN]
        attached = (part for part in fragments if part.get("type") == "FILE")
        turn = message | {"id": name, "files": [*objects(message.get("files")), *attached]}
        if fragments:
            words = [part["content"] for part in spoken if isinstance(part.get("content"), str)]
            turn["role"] = spoken[0]["type"] if spoken else "user"
            turn["content"] = "\n\n".join(words)
        # Exports before fragments have role and content.
        yield turn


DEEPSEEK = Layout(
    "deepseek",
    _deepseek_turns,
    created="inserted_at",
    updated="updated_at",
    text="content",
    at="inserted_at",
    turn_id="id",
)


def _path_deepseek(mapping: dict) -> Iterator[tuple[str, dict]]:
    nodes = {name: node for name, node in mapping.items() if isinstance(node, dict)}
    roots = (name for name, node in nodes.items() if not node.get("parent"))
    name = "root" if "root" in nodes else next(roots, None)
    while name is not None:
        node = nodes.pop(name)
        yield name, node
        children = (c for c in reversed(items(node.get("children"))) if isinstance(c, str))
        name = next((child for child in children if child in nodes), None)


# --- Grok -----------------------------------------------------------------------------------------


def is_grok(entry: dict) -> bool:
    return isinstance(entry.get("responses"), list)


def _grok_turns(value: dict) -> Iterator[dict]:
    """The responses in their order. A flat variant has no inner object."""
    for response in objects(value.get("responses")):
        yield response["response"] if isinstance(response.get("response"), dict) else response


GROK = Layout(
    "grok",
    _grok_turns,
    id="id _id",
    created="create_time",
    updated="modify_time",
    about="conversation",
    role="sender",
    text="message",
    at="create_time",
    turn_id="_id id",
    files="file_attachments",
)

# --- Le Chat --------------------------------------------------------------------------------------


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
            chat, at = identifier(entry.value.get("chatId")), entry.value.get("createdAt")
            key = spill.put(_turn_lechat(entry.value))
            chats.setdefault(chat, []).append((texts.seconds(at), key))
    for chat, messages in chats.items():
        draft = Draft("lechat", where, id=chat)
        for _, key in sorted(messages):
            (turn,) = spill.get(key)
            draft.add(**turn)
        yield draft.finish()


def _turn_lechat(value: dict) -> dict:
    """A message as ``Draft.add`` takes it."""
    chunks = objects(value.get("contentChunks"))
    spoken = [chunk["text"] for chunk in chunks if _is_text(chunk)]
    content = value.get("content")
    text = content if isinstance(content, str) else ""
    shown = [{"name": "image"} for chunk in chunks if chunk.get("type") == "image_url"]
    return {
        "role": value.get("role"),
        "text": text if text.strip() else "".join(spoken),
        "at": value.get("createdAt"),
        "id": value.get("id"),
        "attachments": [*objects(value.get("files")), *shown],
        "model": value.get("model"),
    }


# --- Copilot --------------------------------------------------------------------------------------

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
        draft = Draft("copilot", where[title], id=made_id("copilot", title), title=title)
        for key in reversed(keys):
            time, author, text = spill.get(key)
            draft.add(author, text, time)
        yield draft.finish()


def is_sharegpt(entry: dict) -> bool:
    """Whether its turns have from and value; texts are kept as they are, HTML included."""
    return any("from" in turn for turn in objects(entry.get("conversations")))


SHAREGPT = Layout(
    "sharegpt", lambda value: objects(value["conversations"]), title="", role="from", text="value"
)


def is_wildchat(entry: dict) -> bool:
    """Whether it has turns and a hash or, in the first release, a time."""
    return is_lmsys(entry) and ("conversation_hash" in entry or "timestamp" in entry)


def _wildchat_turns(value: dict) -> Iterator[dict]:
    """Turns without a time of their own take the row's."""
    for turn in _lmsys_turns(value):
        role, name = role_of(turn.get("role")), identifier(turn.get("turn_identifier"))
        # A question and its answer share the turn's number.
        at = turn.get("timestamp") or value.get("timestamp")
        yield turn | {"id": name and f"{name}-{role}", "at": at}


WILDCHAT = Layout(
    "wildchat",
    _wildchat_turns,
    id="conversation_hash conversation_id",
    title="",
    updated="timestamp",
    text="content",
    at="at",
    turn_id="id",
)


def is_lmsys(entry: dict) -> bool:
    """Whether it is a row of turns with roles."""
    return any("role" in turn for turn in objects(entry.get("conversation")))


def _lmsys_turns(value: dict) -> Iterator[dict]:
    """The turns; the row's model gave the answers."""
    for turn in objects(value.get("conversation")):
        answers = role_of(turn.get("role")) == "assistant"
        yield turn | {"model": value.get("model") if answers else ""}


LMSYS = Layout("lmsys", _lmsys_turns, id="conversation_id", title="", text="content")


# The first that fits reads the row.
CORPORA: tuple[tuple[Layout, Callable[[dict], bool]], ...] = (
    (SHAREGPT, is_sharegpt),
    (WILDCHAT, is_wildchat),
    (LMSYS, is_lmsys),
)


@dataclass(frozen=True)
class CorpusRow:
    """One conversation of a collection; ``speaker`` is a digest of who holds it, or "".

    ``source`` is human, or synthetic where the record's own “source” says so.
    """

    conversation: Conversation
    speaker: str
    language: str
    source: str = "human"


def row_of(record: dict, salt: str = "") -> CorpusRow | None:
    """The conversation in ``record``; None where it is none of these formats or has no messages.

    Addresses are never kept: a digest of them with ``salt`` says which conversations are of one
    person. LMSYS-Chat-1M and ShareGPT name nobody.
    """
    layout = next((layout for layout, fits in CORPORA if fits(record)), None)
    conversation = layout and next(layout.read(Entry(1, record)))
    if not isinstance(conversation, Conversation):
        return None
    turns = objects(record.get("conversation"))
    address = identifier(
        record.get("hashed_ip"), *(turn.get("hashed_ip") for turn in turns), record.get("user_id")
    )
    speaker = hashlib.sha256(f"{salt}/{address}".encode()).hexdigest()[:16] if address else ""
    source = "synthetic" if record.get("source") == "synthetic" else "human"
    return CorpusRow(conversation, speaker, texts.name(record.get("language"))[:40], source)


# --- Any table of queries: a column of times and one of texts -------------------------------------

_TIME, _TEXT = ("timestamp", "time", "date"), ("query", "search", "text")


def detect_queries(header: list[str]) -> str:
    """The name "queries" for a header that names both columns."""
    return "queries" if _column(header, _TIME) and _column(header, _TEXT) else ""


def read_queries(table: Table) -> Iterator[Record]:
    """A search a row; rows without a time are kept undated."""
    time, text = _column(table.header, _TIME), _column(table.header, _TEXT)
    for entry in table.rows():
        query = texts.clean(entry.value.get(text, ""))
        if query.strip():
            moment = texts.moment(entry.value.get(time, ""))
            yield Search("queries", query, moment.at, moment.assumed)
        else:
            yield skipped(entry.where, "junk")


def _column(header: list[str], titles: tuple[str, ...]) -> str:
    return next((name for name in titles if name in header), "")
