"""What a layout is made from: plain records, people already under their pseudonyms. Pure.

Preference pairs also as lists of messages, the conversational form of training libraries.
"""

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from annotation.core.errors import DomainError
from annotation.core.records import transcript
from annotation.personas.schema import as_text
from annotation.questions.base import Measure


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona as shown to annotators; ``user_id`` is its line in the release, from "1"."""

    user_id: str
    version: int
    profile: dict
    # "text", "since" and "until", days or None.
    memories: tuple[dict, ...] = ()


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
    # The days from which it holds, and on which it holds no more; the turn that states it, from 1.
    since: str | None = None
    until: str | None = None
    turn: int | None = None

    @property
    def source(self) -> str:
        """That of all conversations; "" where they differ."""
        return self.sources[0] if len(set(self.sources)) == 1 else ""


@dataclass(frozen=True, slots=True)
class Vote:
    """One judgment, of any kind; ``shown`` are answers' ids.

    ``label`` is what people agree on or not: an answer's id, "tie", "none", or a word of the kind;
    None where the answer has several parts. ``answers`` are the rows of all that was said
    (``Kind.released``), ``detail`` what adds to the label.
    """

    worker: str
    label: str | None
    shown: list[str]
    reason: str
    flags: list[str]
    seconds: float | None
    submitted_at: str
    imported: bool
    answers: Sequence[dict] = ()
    detail: str = ""
    chips: list[str] = field(default_factory=list)
    marks: list[dict] = field(default_factory=list)
    revision: int = 1
    # Of an answer with several parts: {"QUESTION" or "NUMBER/QUESTION": its label or number}.
    parts: dict[str, Any] = field(default_factory=dict)


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
    # The day on which it is asked.
    asked_on: str | None
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
    # Of the gold response, {"number", "text"}.
    claims: Sequence[dict] = ()
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
    # The probability with which it was drawn for votes; None where all items got votes.
    chance: float | None = None
    # Of the query, BCP 47; "" where it is not known.
    language: str = ""


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


# Tables of one's own queries whose rows have an id.
OWN_TABLES = ("gold_information", "personalized_rubric", "meta_test_set", "evaluation_shot")


@dataclass(frozen=True, slots=True)
class Response:
    """An answer to somebody's own query; ``scores`` are (criterion, 1 to 5, feedback).

    ``shot`` is whether it is an example for a judge model, or tests one.
    """

    text: str
    scores: tuple[tuple[str, int, str], ...] = ()
    shot: bool = False


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


# --- Messages -------------------------------------------------------------------------------------


MESSAGES: list = [{"role": "text", "content": "text"}]
# Whose single message holds the text of a column.
_SPEAKERS = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}


def asked(question: str | Sequence[dict], profile: dict | None = None) -> list[dict]:
    """The question, a text or messages, after the card of who asks it where there is a profile."""
    about = [_message("system", f"The user's profile:\n{as_text(profile)}")] if profile else []
    turns = [_message("user", question)] if isinstance(question, str) else question
    return [*about, *turns]


def answer_messages(answer: Answer) -> list[dict]:
    """An answer; of a live comparison what was said after the query, both sides."""
    return list(answer.messages) or [_message("assistant", answer.text)]


def _message(role: str, content: str) -> dict:
    return {"role": role, "content": content}


def as_texts(row: dict) -> dict:
    """``row`` with question and answers as texts where they are messages.

    A prompt of several messages becomes their transcript, and stays in ``messages``. DomainError
    with a sentence where an answer is more than one message. What a system message before a single
    question says must stand in the row's ``persona``, too.
    """
    prompt = row.get("prompt")
    if prompt and isinstance(prompt, list) and all(map(_is_turn, prompt)):
        turns = prompt[1:] if row.get("persona") and prompt[0]["role"] == "system" else prompt
        if sum(turn["role"] != "system" for turn in turns) > 1:
            row = row | {"prompt": transcript(turns), "messages": turns}
    return row | {
        name: _text(name, row[name], speaker, bool(row.get("persona")))
        for name, speaker in _SPEAKERS.items()
        if isinstance(row.get(name), list)
    }


def _is_turn(message: object) -> bool:
    return isinstance(message, dict) and all(
        isinstance(message.get(name), str) for name in ("role", "content")
    )


def _text(name: str, messages: list, speaker: str, known: bool) -> str:
    if not all(isinstance(message, dict) for message in messages):
        raise DomainError(f"“{name}” is no list of messages")
    if name == "prompt" and messages and messages[0].get("role") == "system":
        if not known:
            raise DomainError("the system message in “prompt” stands in no “persona”")
        messages = messages[1:]
    turns = [message.get("role") for message in messages]
    alternate = ([speaker, "user"] * len(turns))[: len(turns) | 1]
    if turns[1:] and turns == alternate and all(map(_is_turn, messages)):
        return transcript(messages)
    texts = [message.get("content") for message in messages]
    if [message.get("role") for message in messages] != [speaker] or not isinstance(texts[0], str):
        raise DomainError(f"“{name}” is not one message of the {speaker}")
    return texts[0]
