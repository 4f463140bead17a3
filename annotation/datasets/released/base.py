"""What a layout of a release gives a study: ``tasks``, and a method for each file of a bundle.

The methods yield (place, row), and each reads the release's files anew, so that memory does not
grow with them. ``pairs`` has the tier and winner that came with an item.
"""

import hashlib
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets import release_files
from annotation.datasets.release_files import Faults, json_of, text_of
from annotation.judging.kinds import kind_of

Rows = Iterator[tuple["Place", dict]]
OVERLAP = 9
# What a release holds and a study cannot take over.
RULINGS = "rulings of curators: the votes alone come in"
VERSIONS = "items of later versions of their task, query or persona: they count from 1 again"
# What a layout may have no place for; its own are named by ``LACKS``.
PARTS = {
    "kinds": "judgments of other kinds",
    "persons": "persons' own ids: pseudonyms stand for them",
    "profiles": "profiles",
    "memories": "memories",
    "attributes": "attributes with their conversations",
    "queries": "queries' own ids, and the days on which they are asked",
    "types": "types of queries",
    "strategies": "strategies and models of answers",
    "order": "the order in which answers were shown",
    "detail": "how strong a preference is",
    "flags": "flags",
    "chips": "chips of reasons",
    "marks": "marks in answers",
    "times": "times of judgments, and how often they were changed",
}
PROMPTS = "answers with the template, digest and parameters of their prompt: their texts come in"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row stands: file and number from 1."""

    file: str
    line: int


@dataclass(frozen=True, slots=True)
class GoldItem:
    """An item about a gold response, with its claims by their numbers."""

    place: Place
    id: str
    task: str
    query: str
    overlap: int
    gold: str
    claims: dict[int, str]


@dataclass(frozen=True, slots=True)
class PublishedPair:
    """A release's result of an item: half, tier, and the id of the answer that people chose."""

    half: str
    tier: str
    chosen: str


class Layout(ABC):
    """A release's folder as rows of a bundle; ``faults`` lists what is left out."""

    name = ""
    # Of PARTS.
    LACKS: tuple[str, ...] = ()
    # Columns that are read, or repeat what is read.
    columns: frozenset[str] = frozenset()

    def __init__(self, folder: Path, faults: Faults) -> None:
        self.folder, self.faults = folder, faults
        self.unknown: dict[str, None] = {}
        self.pairs: dict[str, PublishedPair] = {}
        self.left_out: set[Place] = set()
        # What a study cannot take over: {words: how many}.
        self.lost: Counter[str] = Counter()

    @abstractmethod
    def tasks(self) -> dict[str, tuple[str, dict]]:
        """{name: (kind, settings)} of the tasks that the items are of."""

    def rows(self, name: str) -> Rows:
        """The rows of the bundle's file ``name``, each id once."""
        seen: dict[str, tuple[str, Place]] = {}
        for place, row in getattr(self, name, tuple)():
            if "id" not in row:
                yield place, row
                continue
            digest, first = seen.setdefault(row["id"], (digest_of(row), place))
            if first is place:
                yield place, row
            elif digest != digest_of(row):
                self.fault(place, f"“{row['id'][:80]}” stands for something else in an earlier row")
            elif name == "items":
                self.fault(place, f"the item stands in {first.file}, row {first.line}, already")

    def judgments(self) -> Rows:
        """``item_id``, ``worker``, ``answer`` and other columns of each judgment of the items."""
        for table in ("annotations", "votes"):
            if not release_files.parts(self.folder, table):
                continue
            for place, row in self.read(table, None):
                if "kind" in row and not kind_of(row["kind"]).chooses:
                    self.lost[f"judgments of the kind {row['kind']}: pairs come in as choices"] += 1
                    continue
                item = row.get("item_id", row.get("task"))
                yield place, row | {"item_id": item, "answer": row.get("label")}
            return

    def gold_items(self) -> Iterator[GoldItem]:
        """Items of tasks that ask for a gold response."""
        return iter(())

    def read(self, table: str, columns: frozenset | None) -> Rows:
        """The rows of a table; columns that are not among ``columns`` are noted as unknown."""
        for file, number, row in release_files.rows(self.folder, table, self.faults):
            if columns is not None:
                self.unknown |= dict.fromkeys(key for key in row if key not in columns)
            yield Place(file, number), row

    def convert(self, rows: Rows, make: Callable) -> Rows:
        """``make(place, row)`` of each row; a row that it refuses is a fault."""
        for place, row in rows:
            try:
                yield from ((place, made) for made in make(place, row))
            except DomainError as refusal:
                self.fault(place, refusal.sentence)

    def fault(self, place: Place, reason: str) -> None:
        """List a row that is left out, with the first reason."""
        if place not in self.left_out:
            self.left_out.add(place)
            self.faults.add(place.file, place.line, reason)

    def counts(self, items: set[str]) -> dict[str, dict[str, int]]:
        """{half: {tier: pairs}} among ``items``."""
        counted: dict[str, Counter] = {}
        for item, pair in self.pairs.items():
            if item in items:
                counted.setdefault(pair.half, Counter())[pair.tier] += 1
        return {half: dict(tiers) for half, tiers in counted.items()}


def bare_persona(place: Place, row: dict) -> Iterator[dict]:
    if user := user_of(row):
        yield {"id": user, "profile": {"user_id": user}}


def user_of(row: dict) -> str:
    return text_of(row, "user_id") if row.get("user_id") not in (None, "") else ""


def digest_of(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()


def whole_of(value: Any) -> Any:
    """A whole number that a table of text has as digits; anything else as it is."""
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19
    return int(value) if digits else value


def revision_of(value: Any) -> int:
    """How often the judgment was changed, from 1; 1 where that is no such number."""
    number = whole_of(value)
    return number if type(number) is int and 1 <= number < 1 << 15 else 1


def decimal_of(value: Any) -> float | None:
    """A number, also of a table of text; None for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    return number if math.isfinite(number) else None


def list_of(row: dict, column: str) -> Any:
    """The JSON list of a column that may lack."""
    return json_of(row, column) if row.get(column) else []


def times_of(row: dict) -> dict:
    """When an attribute or a memory holds, and which turn states it; what is not known lacks."""
    times = {name: whole_of(row.get(name)) for name in ("since", "until", "turn")}
    return {name: value for name, value in times.items() if value not in (None, "")}


def texts_of(row: dict, column: str) -> list[str]:
    value = row.get(column)
    value = json_of(row, column) if isinstance(value, str) else value or []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise DomainError(f"“{column}” is no list of text")
    return value
