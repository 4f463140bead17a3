"""OpenAssistant: lines of trees, of threads, or of bare messages."""

from collections.abc import Callable, Iterable, Iterator

from annotation.histories.formats.build import Draft, Spill, identifier, objects
from annotation.histories.formats.streams import Entry
from annotation.histories.records import Record, Skipped, skipped

_WORST = float("inf")


def detect(entry: dict) -> str:
    """The name "openassistant" for a tree, a thread, or a message with its id, text and role."""
    tree = isinstance(entry.get("prompt"), dict) and "message_tree_id" in entry
    thread = isinstance(entry.get("thread"), list) and "thread_id" in entry
    message = all(isinstance(entry.get(key), str) for key in ("message_id", "text", "role"))
    return "openassistant" if tree or thread or message else ""


def read(entries: Iterator[Entry | Skipped]) -> Iterator[Record]:
    """All conversations: of each tree the path of the best ranked replies."""
    loose = _Messages()
    for entry in entries:
        if isinstance(entry, Skipped):
            yield entry
        elif not isinstance(entry.value, dict) or not detect(entry.value):
            yield skipped(entry.where, "junk")
        elif "message_id" in entry.value:
            loose.add(entry)
        else:
            yield _conversation(entry)
    yield from loose.conversations()


def _conversation(entry: Entry) -> Record:
    value = entry.value
    if "thread_id" in value:
        turns: Iterable[dict] = objects(value.get("thread"))
        name = value["thread_id"]
    else:
        turns, name = _path([value["prompt"]], _replies), value["message_tree_id"]
    draft = Draft("openassistant", entry.where, id=name)
    for turn in turns:
        if not turn.get("deleted"):
            _add(draft, turn)
    return draft.finish()


def _add(draft: Draft, turn: dict) -> None:
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


def _path(candidates: list[dict], replies: Callable[[dict], list[dict]]) -> Iterable[dict]:
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
            turns = _path([root], lambda turn: self._below.pop(turn["id"], []))
            draft = None
            for turn in turns:
                (message,) = self._spill.get(turn["key"])
                tree = identifier(message.get("message_tree_id"), root["id"])
                draft = draft or Draft("openassistant", self._where, id=tree)
                _add(draft, message)
            if draft:
                yield draft.finish()
