"""What a layout is made from: plain records, people already under their pseudonyms."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


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


@dataclass(frozen=True, slots=True)
class Attribute:
    """A statement about a persona; ``conversations`` are lists of {"role", "text"}."""

    id: str
    user_id: str
    text: str
    confidence: float | None
    model: str
    conversations: list[list[dict]] = field(default_factory=list)


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


class VoteText(NamedTuple):
    """A vote whose answer is a label, its parts as JSON text where it is written down.

    ``label``, ``detail`` and ``shown`` are JSON; ``before`` and ``after`` are members of an object,
    up to the value of "marks" and from there to the end.
    """

    worker: str
    label: str
    detail: str
    shown: str
    before: str
    marks: str
    after: str


@dataclass(frozen=True, slots=True)
class VoteTexts(Sequence[Vote]):
    """Votes as the database makes their JSON: a Vote is made where one is asked for."""

    texts: tuple[VoteText, ...]
    workers: list[str]
    labels: list[str | None]

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, place):
        if isinstance(place, slice):
            return VoteTexts(self.texts[place], self.workers[place], self.labels[place])
        text, label = self.texts[place], self.labels[place]
        return Vote(
            worker=text.worker,
            label=label,
            answer=label,
            detail=json.loads(text.detail),
            shown=json.loads(text.shown),
            **json.loads(f"{{{text.before}{text.marks}{text.after}"),
        )


class LabelVotes(NamedTuple):
    """The votes of an item as codes: the version of a task with its labels, item, who, what."""

    task: tuple[str, int]
    offered: tuple[str, ...]
    item: str
    workers: list[str]
    labels: list[str]


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
    attribute: Attribute | None = None
    gold: str = ""
    criteria: tuple[str, ...] = ()
    # The points of the scale of those criteria.
    scale: tuple[str, ...] = ()
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
        return votes.workers if type(votes) is VoteTexts else [vote.worker for vote in votes]

    @property
    def given_labels(self) -> list[str | None]:
        """The label of each of the votes."""
        votes = self.votes
        return votes.labels if type(votes) is VoteTexts else [vote.label for vote in votes]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An answer as it was made; texts are exact."""

    id: str
    query_id: str
    query_version: int
    text: str
    urls: list
    strategy: str
    model: str
    template: str
    prompt_digest: str
    parameters: dict


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

    ``ids`` are those of its rows, by table of OWN_TABLES.
    """

    id: str
    text: str
    need: str
    responses: tuple[Response, ...]
    information: tuple[str, ...]
    rubric: str
    ids: dict[str, str]


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
