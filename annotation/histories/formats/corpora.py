"""Public collections of chats, whose rows are also a pool of conversations, and tables of queries.

Pure.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from annotation.histories import texts, times
from annotation.histories.formats.build import Entry, Layout, identifier, objects, role_of
from annotation.histories.formats.streams import Table
from annotation.histories.records import Conversation, Record, Search, skipped


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
        own = {
            "id": name and f"{name}-{role}",
            "at": turn.get("timestamp") or value.get("timestamp"),
        }
        yield turn | own


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
            moment = times.moment(entry.value.get(time, ""))
            yield Search("queries", query, moment.at, moment.assumed)
        else:
            yield skipped(entry.where, "junk")


def _column(header: list[str], titles: tuple[str, ...]) -> str:
    return next((name for name in titles if name in header), "")
