"""Public collections of chats, and their rows as a pool of conversations. Pure."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from annotation.histories import texts
from annotation.histories.formats.build import Draft, Spill, identifier, objects, role_of
from annotation.histories.formats.streams import Entry, each, holds
from annotation.histories.records import Conversation, Record, Skipped, skipped

_MARK = re.compile(r"\n?<extra_id_1>(User|Assistant)\n")


def detect_helpsteer(entry: dict) -> str:
    """The name "helpsteer2" for a prompt and a response with their scores."""
    both = all(isinstance(entry.get(key), str) for key in ("prompt", "response"))
    return "helpsteer2" if both and "helpfulness" in entry else ""


@each(detect_helpsteer)
def read_helpsteer(entry: Entry) -> Iterator[Record]:
    """One prompt with its response."""
    draft = Draft("helpsteer2", entry.where)
    # The first turn is the person's and has no mark: [text, role, text, role, text, …].
    first, *marked = _MARK.split(entry.value["prompt"])
    draft.add("user", first)
    for role, text in zip(marked[::2], marked[1::2], strict=True):
        draft.add(role, text)
    draft.add("assistant", entry.value["response"])
    yield draft.finish()


def detect_prism(entry: dict) -> str:
    """The name "prism" for a row with a conversation_history."""
    return "prism" if isinstance(entry.get("conversation_history"), list) else ""


@each(detect_prism)
def read_prism(entry: Entry) -> Iterator[Record]:
    """One conversation with the answers that were chosen."""
    row = entry.value
    draft = Draft(
        "prism", entry.where, id=row.get("conversation_id"), created=row.get("generated_datetime")
    )
    for turn in objects(row["conversation_history"]):
        if turn.get("role") != "model" or turn.get("if_chosen") is True:
            draft.add(turn.get("role"), turn.get("content"), model=turn.get("model_name"))
    yield draft.finish()


def detect_sharegpt(entry: dict) -> str:
    """The name "sharegpt" for turns with from and value."""
    turns = objects(entry.get("conversations"))
    return "sharegpt" if any("from" in turn for turn in turns) else ""


@each(holds("conversations", list))
def read_sharegpt(entry: Entry) -> Iterator[Record]:
    """One conversation; its texts are kept as they are, HTML included."""
    draft = Draft("sharegpt", entry.where, id=entry.value.get("id"))
    for turn in objects(entry.value["conversations"]):
        draft.add(turn.get("from"), turn.get("value"), model=turn.get("model"))
    yield draft.finish()


def detect_sharegpt_pairs(entry: dict) -> str:
    """The name "sharegpt_90k" for elements that hold a question and its answer."""
    turns = objects(entry.get("conversation"))
    return "sharegpt_90k" if any("human" in turn for turn in turns) else ""


@each(holds("conversation", list))
def read_sharegpt_pairs(entry: Entry) -> Iterator[Record]:
    draft = Draft("sharegpt_90k", entry.where, id=entry.value.get("conversation_id"))
    for pair in objects(entry.value["conversation"]):
        draft.add("human", pair.get("human"))
        draft.add("assistant", pair.get("assistant"))
    yield draft.finish()


def detect_wildchat(entry: dict) -> str:
    """The name "wildchat" for a row with turns and a hash or, in the first release, a time."""
    turns = objects(entry.get("conversation"))
    dated = "conversation_hash" in entry or "timestamp" in entry
    return "wildchat" if dated and any("role" in turn for turn in turns) else ""


@each(holds("conversation", list))
def read_wildchat(entry: Entry) -> Iterator[Record]:
    """One row. Turns without a time of their own take the row's."""
    row = entry.value
    draft = Draft(
        "wildchat",
        entry.where,
        id=identifier(row.get("conversation_hash"), row.get("conversation_id")),
        updated=row.get("timestamp"),
    )
    for turn in objects(row.get("conversation")):
        at = turn.get("timestamp") or row.get("timestamp")
        role = role_of(turn.get("role"))
        name = identifier(turn.get("turn_identifier"))
        draft.add(
            role,
            turn.get("content"),
            at,
            # A question and its answer share the turn's number.
            id=name and f"{name}-{role}",
            model=row.get("model") if role == "assistant" else "",
        )
    yield draft.finish()


def detect_lmsys(entry: dict) -> str:
    """The name "lmsys" for a row of turns with roles and without a time."""
    turns = objects(entry.get("conversation"))
    return "lmsys" if any("role" in turn for turn in turns) else ""


@each(holds("conversation", list))
def read_lmsys(entry: Entry) -> Iterator[Record]:
    """One row: one conversation."""
    row = entry.value
    name = identifier(row.get("conversation_id"))
    yield _lmsys_conversation("lmsys", entry, name, row["conversation"], row.get("model"))


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
        yield _lmsys_conversation(
            "chatbot_arena",
            entry,
            f"{name}-{side}" if name else "",
            row[f"conversation_{side}"],
            row.get(f"model_{side}"),
            row.get("tstamp"),
        )


def _lmsys_conversation(
    provider: str, entry: Entry, name: str, turns: object, model: object, at: object = None
) -> Record:
    draft = Draft(provider, entry.where, id=name, created=at)
    for turn in objects(turns):
        answers = turn.get("role") == "assistant"
        draft.add(turn.get("role"), turn.get("content"), at, model=model if answers else "")
    return draft.finish()


_WORST = float("inf")


def detect_openassistant(entry: dict) -> str:
    """The name "openassistant" for a tree, a thread, or a message with its id, text and role."""
    tree = isinstance(entry.get("prompt"), dict) and "message_tree_id" in entry
    thread = isinstance(entry.get("thread"), list) and "thread_id" in entry
    message = all(isinstance(entry.get(key), str) for key in ("message_id", "text", "role"))
    return "openassistant" if tree or thread or message else ""


def read_openassistant(entries: Iterator[Entry | Skipped]) -> Iterator[Record]:
    """All conversations: of each tree the path of the best ranked replies."""
    loose = _Messages()
    for entry in entries:
        if isinstance(entry, Skipped):
            yield entry
        elif not isinstance(entry.value, dict) or not detect_openassistant(entry.value):
            yield skipped(entry.where, "junk")
        elif "message_id" in entry.value:
            loose.add(entry)
        else:
            yield _openassistant_conversation(entry)
    yield from loose.conversations()


def _openassistant_conversation(entry: Entry) -> Record:
    value = entry.value
    if "thread_id" in value:
        turns: Iterable[dict] = objects(value.get("thread"))
        name = value["thread_id"]
    else:
        turns, name = _openassistant_path([value["prompt"]], _replies), value["message_tree_id"]
    draft = Draft("openassistant", entry.where, id=name)
    for turn in turns:
        if not turn.get("deleted"):
            _add_openassistant(draft, turn)
    return draft.finish()


def _add_openassistant(draft: Draft, turn: dict) -> None:
    draft.add(
        turn.get("role"),
        turn.get("text"),
        turn.get("created_date"),
        id=turn.get("message_id"),
        model=turn.get("model_name"),
    )


def _replies(turn: dict) -> list[dict]:
    return objects(turn.get("replies"))


def _rank(value: object) -> float:
    return value if isinstance(value, int | float) and value == value else _WORST


def _openassistant_path(
    candidates: list[dict], replies: Callable[[dict], list[dict]]
) -> Iterable[dict]:
    """From the first candidates down: the one of lowest rank that is not deleted."""
    while left := [turn for turn in candidates if not turn.get("deleted")]:
        best = min(left, key=lambda turn: _rank(turn.get("rank")))
        yield best
        candidates = replies(best)


class _Messages:
    """Messages that come line by line, to be put together at the end."""

    _FIELDS = ("message_id", "role", "text", "created_date", "model_name", "message_tree_id")

    def __init__(self) -> None:
        self._spill, self._where = Spill(), ""
        self._below: dict[str, list[dict]] = {}

    def add(self, entry: Entry) -> None:
        value = entry.value
        self._where = self._where or entry.where
        key = self._spill.put({key: value.get(key) for key in self._FIELDS})
        name, parent = identifier(value["message_id"]), identifier(value.get("parent_id"))
        turn = {"id": name, "key": key, "rank": value.get("rank"), "deleted": value.get("deleted")}
        self._below.setdefault(parent, []).append(turn)

    def conversations(self) -> Iterator[Record]:
        for root in self._below.pop("", []):
            turns = _openassistant_path([root], lambda turn: self._below.pop(turn["id"], []))
            draft = None
            for turn in turns:
                (message,) = self._spill.get(turn["key"])
                tree = identifier(message.get("message_tree_id"), root["id"])
                draft = draft or Draft("openassistant", self._where, id=tree)
                _add_openassistant(draft, message)
            if draft:
                yield draft.finish()


FORMATS = (
    (detect_sharegpt, read_sharegpt),
    (detect_sharegpt_pairs, read_sharegpt_pairs),
    (detect_wildchat, read_wildchat),
    (detect_lmsys, read_lmsys),
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
    for detect, read in FORMATS:
        if detect(record):
            return _row(record, read(iter([Entry(1, record)])), salt)
    return None


def _row(record: dict, read: Iterator, salt: str) -> CorpusRow | None:
    conversation = next(read, None)
    if not isinstance(conversation, Conversation):
        return None
    turns = objects(record.get("conversation"))
    address = identifier(
        record.get("hashed_ip"), *(turn.get("hashed_ip") for turn in turns), record.get("user_id")
    )
    speaker = hashlib.sha256(f"{salt}/{address}".encode()).hexdigest()[:16] if address else ""
    source = "synthetic" if record.get("source") == "synthetic" else "human"
    return CorpusRow(conversation, speaker, texts.name(record.get("language"))[:40], source)
