"""What a layout is made from: plain records, people already under their pseudonyms."""

import hashlib
import hmac
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from annotation.datasets.columns import Columns, filled, json_text, parsed
from annotation.datasets.options import Options
from annotation.questions.base import Measure


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona as shown to annotators; ``user_id`` is its line in the release, from "1"."""

    user_id: str
    version: int
    profile: dict
    memories: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """One of an item's answers, under the id it was imported or made with."""

    id: str
    text: str
    strategy: str
    model: str
    # Of a live comparison: all that was said after the query, the person's messages included, and
    # how likely its systems were drawn to meet.
    messages: Sequence[dict] = ()
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """A statement about a persona; ``conversations`` are lists of {"role", "text"}, ``sources``
    say of each who wrote the person's side: human, synthetic, or "" where that is not known.
    """

    id: str
    user_id: str
    text: str
    confidence: float | None
    model: str
    conversations: list[list[dict]] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """That of all conversations; "" where they differ."""
        return self.sources[0] if len(set(self.sources)) == 1 else ""


@dataclass(frozen=True, slots=True)
class Vote:
    """One judgment, of any kind; ``shown`` are answers' ids.

    ``label`` is what people agree on or not: an answer's id, "tie", "none", or a word of the kind;
    None where the answer has several parts. ``answer`` and ``detail`` are as the kind exports them.
    """

    worker: str
    label: str | None
    shown: list[str]
    reason: str
    flags: list[str]
    seconds: float | None
    submitted_at: str
    imported: bool
    answer: str | dict = ""
    detail: str = ""
    chips: list[str] = field(default_factory=list)
    marks: list[dict] = field(default_factory=list)
    revision: int = 1
    # Of an answer with several parts: {"QUESTION" or "NUMBER/QUESTION": its label or number}.
    parts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class VoteColumns:
    """The votes of some items, in the items' order and then in that of submission.

    ``place`` is each vote's item, counted from 0, ``code`` the place of its label among those of
    the item, -1 where there is none. ``columns`` has the fields of Vote.
    """

    place: np.ndarray
    code: np.ndarray
    columns: Columns

    def ends(self, items: int) -> np.ndarray:
        """Where the votes of each of the ``items`` items begin, and where the last end."""
        return np.searchsorted(self.place, np.arange(items + 1))

    @cached_property
    def workers(self) -> list[str]:
        """Who gave each."""
        return self.columns.values("worker")

    @cached_property
    def labels(self) -> list[str | None]:
        """The label of each."""
        return self.columns.values("label")

    @cached_property
    def made(self) -> list[Vote]:
        """Every vote as an object."""
        names = list(self.columns.texts)
        rows = zip(*map(self.columns.values, names), strict=True)
        return [Vote(**dict(zip(names, row, strict=True))) for row in rows]


@dataclass(frozen=True, slots=True)
class Votes(Sequence[Vote]):
    """The votes of one item among those of ``chunk``: a Vote is made where one is asked for."""

    chunk: VoteColumns
    rows: slice

    def __len__(self) -> int:
        return self.rows.stop - self.rows.start

    def __getitem__(self, place: Any) -> Any:
        return self.chunk.made[self.rows][place]

    def __iter__(self) -> Iterator[Vote]:
        return iter(self.chunk.made[self.rows])

    @property
    def workers(self) -> list[str]:
        """Who gave each."""
        return self.chunk.workers[self.rows]

    @property
    def labels(self) -> list[str | None]:
        """The label of each."""
        return self.chunk.labels[self.rows]


class LabelVotes(NamedTuple):
    """The votes on one version of a task, in the items' order, whose answer is one label.

    Equally long arrays: the item's position, a number of the person, and the label's place in
    ``offered``.
    """

    task: tuple[str, int]
    offered: tuple[str, ...]
    position: np.ndarray
    worker: np.ndarray
    label: np.ndarray


@dataclass(frozen=True, slots=True)
class Item:
    """A judged thing with everything that was shown. ``votes`` come in the order of submission.

    ``labels`` are all that a vote may have, answers first; none where an answer has several parts.
    ``closed`` means that no further vote will come. ``user_id`` and the query's fields are
    "" and ``profile`` None where the item has none. ``adjudicated`` is a curator's ruling, a label
    as votes have it.
    """

    id: str
    task: str
    task_version: int
    kind: str
    labels: tuple[str, ...]
    overlap: int
    closed: bool
    query_id: str
    query_version: int | None
    question: str
    need: str
    type: str
    scenario: str
    user_id: str
    persona_version: int | None
    profile: dict | None
    answers: tuple[Answer, ...]
    votes: Sequence[Vote]
    # The question as messages: a conversation where the query is one.
    messages: Sequence[dict] = ()
    position: int = 0
    attribute: Attribute | None = None
    gold: str = ""
    criteria: tuple[str, ...] = ()
    # What raters are compared on.
    measures: tuple[Measure, ...] = ()
    adjudicated: str | dict | None = None
    # Whether more people were asked because its panel left it borderline.
    topped: bool = False
    # Threshold of the tier rule below which items of the task stop early (None: they never did).
    stop_below: str | None = None
    # Winner's id and tier that the item was imported with.
    imported: tuple[str, str] | None = None

    @property
    def voters(self) -> list[str]:
        """Who gave each of the votes."""
        votes = self.votes
        return votes.workers if type(votes) is Votes else [vote.worker for vote in votes]

    @property
    def vote_labels(self) -> list[str | None]:
        """The label of each of the votes."""
        votes = self.votes
        return votes.labels if type(votes) is Votes else [vote.label for vote in votes]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``counts`` of the used votes by ``Item.labels``; ``winner`` is a label or None."""

    counts: tuple[int, ...]
    winner: str | None
    share: float | None
    tier: str

    @property
    def n(self) -> int:
        """Votes used."""
        return sum(self.counts)


@dataclass(frozen=True, slots=True)
class Pair:
    """A line of the benchmark: which of two answers people prefer, and how clearly."""

    tier: str
    chosen: Answer
    reject: Answer


@dataclass(frozen=True)
class Chunk:
    """Items in the order of hand-out, and all their votes, by column.

    ``columns`` has what layouts publish of an item apart from its verdict. ``tasks`` are (name,
    version), and ``task`` (items,) is the place in it of an item's. ``alike`` (items, …) numbers
    what, beside its votes, decides an item's verdict and pair: the same numbers mean the same.
    ``make`` gives the items of these places as objects.
    """

    columns: Columns
    options: Options
    votes: VoteColumns
    position: np.ndarray
    tasks: list[tuple[str, int]]
    task: np.ndarray
    alike: np.ndarray
    make: Callable[["Chunk", np.ndarray], list[Item]]

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def items(self) -> list[Item]:
        """All items as objects."""
        return self.make(self, np.arange(len(self)))

    def counted(self, votes: np.ndarray) -> np.ndarray:
        """How many of these votes (a mask) each label of each item has: (items, most labels)."""
        items, width = self.options.labels.shape
        places = self.votes.place[votes] * width + self.votes.code[votes]
        return np.bincount(places, minlength=items * width).reshape(items, width)

    def spread(self, *names: str) -> dict[str, pa.Array]:
        """These columns of its item for each vote, the JSON null for none."""
        place = pa.array(self.votes.place)
        return {name: filled(self.columns.texts[name]).take(place) for name in names}

    def votes_on(self, wanted: Callable[[Item], object] | None = None) -> "Chunk":
        """The chunk with the votes on those items alone that ``wanted`` is true of.

        Without it with the votes that are labels.
        """
        votes = self.votes
        mask = votes.code >= 0
        if wanted:
            mask = np.array([bool(wanted(item)) for item in self.items])[votes.place]
        if mask.all():
            return self
        columns = votes.columns.filter(mask)
        return replace(self, votes=VoteColumns(votes.place[mask], votes.code[mask], columns))


# Tables of one's own queries whose rows have an id.
OWN_TABLES = ("gold_information", "personalized_rubric", "meta_test_set", "evaluation_shot")


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to somebody's own query; ``scores`` are (criterion, 1 to 5, feedback).

    ``shot`` is whether it is an example for a judge model, or tests one.
    """

    text: str
    scores: tuple[tuple[str, int, str], ...]
    shot: bool


@dataclass(frozen=True, slots=True)
class OwnQuery:
    """A query of an owner; ``id`` is unique in the release.

    ``ids`` are those of its rows, by table of OWN_TABLES. ``unsure`` is whether a rubric is left
    out, because nobody noted which responses it was written from: it may know those of the test.
    """

    id: str
    text: str
    need: str
    responses: tuple[Response, ...]
    information: tuple[str, ...]
    rubric: str
    ids: dict[str, str]
    unsure: bool = False


@dataclass(frozen=True, slots=True)
class OwnSession:
    """A session that its owner publishes, personal data hidden; ``kind`` chat, search or visit."""

    id: str
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Owner:
    """A person under a pseudonym, with all that they gave."""

    user: str
    sessions: tuple[OwnSession, ...]
    queries: tuple[OwnQuery, ...]


def shuffled(salt: str, ids: Iterable) -> list:
    """``ids`` in an order that only the release's ``salt`` (hex) decides: of HMAC-SHA256(salt, id).

    The place in it is the pseudonym: nothing of the id, its age or another release's order shows.
    """
    key = bytes.fromhex(salt)
    return sorted(ids, key=lambda entry: hmac.digest(key, str(entry).encode(), hashlib.sha256))


def workers(salt: str, ids: Iterable) -> dict:
    """{id: "worker-001"…} for the annotators ``ids``."""
    order = shuffled(salt, ids)
    width = max(3, len(str(len(order))))
    return {worker: f"worker-{number:0{width}d}" for number, worker in enumerate(order, start=1)}


@dataclass(frozen=True)
class Decided:
    """``pattern`` (items,) is the place of each item's pattern; what follows is of each pattern.

    ``winner`` is a label's place among those of an item, -1 for none.
    """

    pattern: np.ndarray
    verdicts: list[Verdict]
    winner: np.ndarray
    judgments: list[int]

    @classmethod
    def of(cls, pattern: np.ndarray, items: list[Item], verdicts: list[Verdict]) -> "Decided":
        """The ``verdicts`` of an item of each pattern."""
        pairs = zip(items, verdicts, strict=True)
        winner = [-1 if v.winner is None else item.labels.index(v.winner) for item, v in pairs]
        return cls(pattern, verdicts, np.array(winner), [len(item.votes) for item in items])

    def columns(self, chunk: Chunk) -> dict[str, pa.Array]:
        """``votes``, ``judgments``, ``winner``, ``share`` and ``tier`` of all items as JSON."""
        items = np.arange(len(chunk))
        return {
            "votes": self._spread([verdict.counts for verdict in self.verdicts]),
            "judgments": self._spread(self.judgments),
            "winner": chunk.options.label(items, self.winner[self.pattern]),
            "share": self._spread([verdict.share for verdict in self.verdicts]),
            "tier": self._spread([verdict.tier for verdict in self.verdicts]),
        }

    def _spread(self, values: list) -> pa.Array:
        texts = [None if value is None else json_text(value) for value in values]
        return pa.array(texts, pa.string()).take(pa.array(self.pattern))


def patterns(
    chunk: Chunk, panels: Collection[int], dropped: Collection[str]
) -> tuple[np.ndarray, np.ndarray]:
    """The first item of each pattern, and the pattern (items,) of each item.

    Items of a pattern have the same votes, all of them and the first of each of ``panels``, by the
    places of their labels. An item with a vote that is no label of it is a pattern of its own.
    """
    votes, items = chunk.votes, np.arange(len(chunk))
    rank = np.arange(len(votes.place)) - votes.ends(len(chunk))[votes.place]
    counts = [chunk.counted(votes.code >= 0)]
    counts += [chunk.counted((votes.code >= 0) & (rank < panel)) for panel in panels]
    alone = np.isin(items, votes.place[votes.code < 0])
    names = chunk.columns.values("item_id") if dropped else []
    out = [name in dropped for name in names] or np.zeros(len(chunk))
    keys = np.column_stack([chunk.alike, out, np.where(alone, items, -1), *counts])
    _, first, pattern = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, pattern.reshape(-1)


def voters(chunk: Chunk, pattern: np.ndarray) -> list[list[str]]:
    """Who judged the items of each pattern."""
    encoded = chunk.votes.columns.texts["worker"].dictionary_encode()
    names = parsed(encoded.dictionary)
    by_pattern: list[list[str]] = [[] for _ in range(pattern.max() + 1)]
    keys = pattern[chunk.votes.place] * len(names) + encoded.indices.to_numpy()
    for key in np.unique(keys).tolist():
        by_pattern[key // len(names)].append(names[key % len(names)])
    return by_pattern
