"""What a layout is made from: plain records, people already under their pseudonyms."""

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Persona:
    """A persona as shown to annotators; ``user_id`` is its line in the release, from "1"."""

    user_id: str
    version: int
    profile: dict


@dataclass(frozen=True, slots=True)
class Answer:
    """One of an item's answers, under the id it was imported or made with."""

    id: str
    text: str
    strategy: str
    model: str


@dataclass(frozen=True, slots=True)
class Vote:
    """One judgment. ``label`` is an answer's id, "tie" or "none"; ``shown`` are answers' ids."""

    worker: str
    label: str
    shown: list[str]
    reason: str
    flags: list[str]
    seconds: float | None
    submitted_at: str
    imported: bool


@dataclass(frozen=True, slots=True)
class Item:
    """A judged thing with everything that was shown. ``votes`` come in the order of submission.

    ``extras`` are the labels beside the answers that the task offers ("tie", "none"); ``closed``
    says that no further vote will come. ``user_id`` is "" and ``profile`` None without a persona.
    """

    id: str
    task: str
    task_version: int
    kind: str
    extras: tuple[str, ...]
    overlap: int
    closed: bool
    query_id: str
    query_version: int
    question: str
    need: str
    type: str
    scenario: str
    user_id: str
    persona_version: int | None
    profile: dict | None
    answers: tuple[Answer, ...]
    votes: tuple[Vote, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label a vote may have, answers first."""
        return (*(answer.id for answer in self.answers), *self.extras)


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


def shuffled(salt: str, ids: Iterable) -> list:
    """``ids`` in an order that only the release's ``salt`` (hex) decides: of HMAC-SHA256(salt, id).

    The place in it is the pseudonym: nothing of the id, its age or another release's order shows.
    """
    key = bytes.fromhex(salt)
    return sorted(ids, key=lambda one: hmac.digest(key, str(one).encode(), hashlib.sha256))


def workers(salt: str, ids: Iterable) -> dict:
    """{id: "worker-001"…} for the annotators ``ids``."""
    order = shuffled(salt, ids)
    width = max(3, len(str(len(order))))
    return {one: f"worker-{number:0{width}d}" for number, one in enumerate(order, start=1)}
