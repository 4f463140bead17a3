"""Turns the rows of a release, ours or a published one, into rows of a study bundle. Pure.

A layout is a class with ``tasks`` ({name: (kind, settings)}) and a method for each file of a bundle
that yields (place, row); ``pair_of`` returns the tier and winner that came with an item. Files are
read once for each, so that memory does not grow with them.
"""

import hashlib
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets import release_files
from annotation.datasets.check import MANIFEST, read_manifest
from annotation.datasets.release_files import Faults, json_of, text_of
from annotation.judging.kinds import KINDS, codes, kind_of
from annotation.judging.kinds.imported import ReleasedAnswer

Rows = Iterator[tuple["Place", dict]]
# The public copy of the benchmark spells one folder so.
HALVES = {"specific": ("specific", "spedific"), "general": ("general",)}
TIERS = ("easy", "medium", "hard", "majority", "imported")
PERSONAS = "persona/all_personas"
TASK = "better"
OVERLAP = 9
TASK_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
POINTS = (5, 7)
VERSIONED = ("task", "query", "persona")
# What a release holds and a study cannot take over.
RULINGS = "rulings of curators: the votes alone come in"
VERSIONS = "items of later versions of their task, query or persona: they count from 1 again"
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
class GivenPair:
    """A release's result of an item: half, tier, and the id of the answer that people chose."""

    half: str
    tier: str
    chosen: str


class Layout(ABC):
    """A release's folder as rows of a bundle; ``faults`` lists what is left out."""

    name = ""
    # Columns that are read, or repeat what is read.
    columns: frozenset[str] = frozenset()

    def __init__(self, folder: Path, faults: Faults) -> None:
        self.folder, self.faults = folder, faults
        self.unknown: dict[str, None] = {}
        self.pairs: dict[str, GivenPair] = {}
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
            digest, first = seen.setdefault(row["id"], (_digest(row), place))
            if first is place:
                yield place, row
            elif digest != _digest(row):
                self.fault(place, f"“{row['id'][:80]}” stands for something else in an earlier row")
            elif name == "items":
                self.fault(place, f"the item stands in {first.file}, row {first.line}, already")

    def judgments(self) -> Rows:
        """``item_id``, ``worker``, ``answer`` and other columns of each judgment of the items."""
        for table in ("annotations", "votes"):
            if not release_files.parts(self.folder, table):
                continue
            for place, row in self.read(table, None):
                if "kind" in row and row["kind"] not in codes(COUNTED=True):
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


class _Pairs(Layout):
    """Layouts whose rows are pairs: a question, a chosen and a rejected answer."""

    rejected = "reject"
    question = "question"

    def tasks(self) -> dict[str, tuple[str, dict]]:
        """Better of two, with the other labels that our own rows show."""
        labels = [
            vote["label"]
            for _place, row in self.pair_rows()
            for vote in (row["votes"] if isinstance(row.get("votes"), list) else ())
            if isinstance(vote, dict) and vote.get("label") in ("tie", "none")
        ]
        words = {name: name in labels for name in ("tie", "none")}
        return {TASK: ("selection", {"options": 2} | words)}

    @abstractmethod
    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        """All pairs; a row has ``half`` and ``tier`` too."""

    def queries(self) -> Rows:
        """Each question of each person once."""
        return self.convert(self.pair_rows(), self._query)

    def candidates(self) -> Rows:
        """The two answers of each pair."""
        return self.convert(self.pair_rows(), self._candidates)

    def items(self) -> Rows:
        """The pairs. The order of the answers does not reveal which was chosen."""
        return self.convert(self.pair_rows(), self._item)

    def _ids(self, place: Place, row: dict) -> tuple[str, str, str, str]:
        """Ids of item, query, chosen and rejected answer."""
        item = row.get("item_id") or f"{row['half']}-{row['tier'] or 'pair'}-{place.line}"
        asked = _digest([row["half"], _user(row), text_of(row, self.question)])
        query = row.get("query_id") or f"q-{asked[:16]}"
        chosen = row.get("chosen_id") or f"{item}-chosen"
        reject = row.get("reject_id") or f"{item}-reject"
        return str(item), str(query), str(chosen), str(reject)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        query = {"id": self._ids(place, row)[1], "text": text_of(row, self.question)}
        query |= {"type": row["half"], "scenario": row.get("scenario") or ""}
        yield query | ({"persona": user} if (user := _user(row)) else {})

    def _candidates(self, place: Place, row: dict) -> Iterator[dict]:
        _item, query, *ids = self._ids(place, row)
        sides = (("chosen", "chosen"), (self.rejected, "reject"))
        for id, (column, side) in zip(ids, sides, strict=True):
            about = {name: row.get(f"{side}_{name}") or "" for name in ("model", "strategy")}
            yield {"id": id, "query": query, "text": text_of(row, column)} | about

    def _item(self, place: Place, row: dict) -> Iterator[dict]:
        item, query, *ids = self._ids(place, row)
        self.pairs.setdefault(item, GivenPair(row["half"], row["tier"], ids[0]))
        votes = row.get("n")
        overlap = {"overlap": votes} if type(votes) is int and votes > OVERLAP else {}
        order = sorted(ids, key=_digest)
        yield {"id": item, "task": TASK, "query": query, "candidates": order} | overlap


class PersonaFeedback(_Pairs):
    """``data/{specific,general}/{easy,medium,hard}`` and the personas, ours or as published."""

    name = "personafeedback"
    # fmt: off
    columns = frozenset((
        "user_id", "question", "chosen", "reject", "item_id", "query_id", "tier",
        "votes", "n", "share", "chosen_id", "reject_id", "chosen_strategy",
        "reject_strategy", "chosen_model", "reject_model", "scenario",
        "persona_version",
    ))
    # fmt: on

    def files(self) -> Iterator[tuple[str, str, str]]:
        """(table, half, tier) of the pairs that are there."""
        for half, folders in HALVES.items():
            for name in folders:
                for tier in TIERS:
                    for table in (f"data/{name}/{tier}", f"{name}/{tier}"):
                        if release_files.parts(self.folder, table):
                            yield table, half, tier

    def personas(self) -> Rows:
        """The line of a persona is its id; without that file, only a person's id is available."""
        if release_files.parts(self.folder, PERSONAS):
            for place, row in self.read(PERSONAS, None):
                yield place, {"id": str(place.line), "profile": row}
            return
        yield from self.convert(self.pair_rows(), _bare_persona)

    def memories(self) -> Rows:
        """Texts that a persona would be interested in."""
        columns = frozenset(("user_id", "text"))
        for place, row in self.read("persona/memories", columns):
            yield place, {"persona": str(row.get("user_id", "")), "text": row.get("text")}

    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        """The pairs of every half and tier."""
        for table, half, tier in self.files():
            for place, row in self.read(table, self.columns):
                yield place, row | {"half": half, "tier": tier}


class Dpo(_Pairs):
    """``pairs``: prompt, chosen, rejected; or question, chosen, reject as published."""

    name = "dpo"
    question, rejected = "prompt", "rejected"
    # fmt: off
    columns = frozenset((
        "prompt", "chosen", "rejected", "tier", "share", "n", "item_id", "user_id",
        "persona", "votes", "chosen_id", "reject_id", "query_id", "type", "question", "reject",
    ))
    # fmt: on

    def personas(self) -> Rows:
        """The profile that stands beside the pairs."""
        return self.convert(self.pair_rows(), self._persona)

    def _persona(self, place: Place, row: dict) -> Iterator[dict]:
        if not _user(row):
            return
        if row.get("persona") is None:
            yield from _bare_persona(place, row)
            return
        yield {"id": _user(row), "profile": json_of(row, "persona")}

    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        """The pairs; their half is the question's type, if it is there."""
        for place, row in self.read("pairs", self.columns):
            half = row.get("type") if row.get("type") in HALVES else "specific"
            texts = {"prompt": row.get("prompt", row.get("question"))}
            texts["rejected"] = row.get("rejected", row.get("reject"))
            yield place, row | texts | {"half": half, "tier": str(row.get("tier") or "")}


def _bare_persona(place: Place, row: dict) -> Iterator[dict]:
    if user := _user(row):
        yield {"id": user, "profile": {"user_id": user}}


def _user(row: dict) -> str:
    return text_of(row, "user_id") if row.get("user_id") not in (None, "") else ""


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode("utf-8", "replace")).hexdigest()


class Long(Layout):
    """``items``, ``candidates``, ``personas``, ``attributes`` and ``judgments``."""

    name = "long"

    def tasks(self) -> dict[str, tuple[str, dict]]:
        """The tasks of the items, with the settings of the manifest, their items and judgments."""
        tasks: dict[str, tuple[str, dict]] = {}
        self.gold: dict[str, dict[int, str]] = {}
        for place, row in self._items():
            try:
                kind = kind_of(row["kind"])
                settings = _settings(row)
                kind.check_config(settings)
            except DomainError as refusal:
                self.fault(place, refusal.sentence)
                continue
            if "gold" in kind.ASKS:
                self.gold.setdefault(str(row.get("item_id")), {})
            earlier = tasks.get(row["task"], (kind.CODE, {}))[1]
            tasks[row["task"]] = kind.CODE, _merged(earlier, settings)
        self._add_answered(tasks)
        for stated in self._stated_tasks():
            code, settings = tasks.get(str(stated.get("name")), ("", {}))
            if code == stated.get("kind") and isinstance(stated.get("config"), dict):
                # Nobody owns what is imported.
                config = _merged(stated["config"], settings) | {"owner_only": False}
                tasks[stated["name"]] = code, config
        return tasks

    def _add_answered(self, tasks: dict[str, tuple[str, dict]]) -> None:
        """Add the settings that judgments show, and collect the claims of gold responses."""
        for _place, row in self.judgments():
            code, settings = tasks.get(str(row.get("task")), ("", {}))
            if code != row.get("kind"):
                continue
            kind = kind_of(code)
            released = ReleasedAnswer(row["answer"], str(row.get("detail") or ""))
            shown = kind.answered_config(released)
            if row.get("reason"):
                shown["reason"] = "optional"
            for name, setting in (("chips", lambda v: v), ("marks", bool)):
                if isinstance(value := row.get(name), list) and value:
                    shown[name] = setting(value)
            tasks[row["task"]] = code, _merged(settings, shown)
            if (item := str(row.get("item_id"))) in self.gold:
                self.gold[item] |= kind.released_claims(released)

    def _stated_tasks(self) -> list[dict]:
        """The tasks that the manifest names, the newest version of each last."""
        there = (self.folder / MANIFEST).is_file()
        rules = read_manifest(self.folder).get("rules") if there else None
        stated = rules.get("tasks") if isinstance(rules, dict) else None
        rows = [task for task in stated or () if isinstance(task, dict)]
        return sorted(rows, key=lambda task: str(task.get("version")).zfill(9))

    def personas(self) -> Rows:
        """All personas; without their table, only a person's id is available."""
        if not release_files.parts(self.folder, "personas"):
            return self.convert(self._items(), _bare_persona)
        return self.convert(self.read("personas", None), self._persona)

    def _persona(self, place: Place, row: dict) -> Iterator[dict]:
        yield {"id": text_of(row, "user_id"), "profile": json_of(row, "profile")}

    def queries(self) -> Rows:
        """The questions of the items."""
        return self.convert(self._items(), self._query)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        if row.get("query_id"):
            query = {"id": text_of(row, "query_id"), "text": text_of(row, "question")}
            query |= {name: row[name] for name in ("need", "type", "scenario") if row.get(name)}
            yield query | ({"persona": _user(row)} if _user(row) else {})

    def candidates(self) -> Rows:
        """All answers."""
        if not release_files.parts(self.folder, "candidates"):
            self.faults.add("candidates", None, "the table of answers is missing")
        return self.convert(self.read("candidates", None), self._candidate)

    def _candidate(self, place: Place, row: dict) -> Iterator[dict]:
        candidate = {"id": text_of(row, "candidate_id"), "query": text_of(row, "query_id")}
        candidate |= {name: row.get(name) or "" for name in ("model", "strategy")}
        if row.get("template") or row.get("prompt_digest"):
            self.lost[PROMPTS] += 1
        yield candidate | {"text": text_of(row, "text"), "urls": _listed(row, "urls")}

    def attributes(self) -> Rows:
        """All attributes with their conversations."""
        return self.convert(self.read("attributes", None), self._attribute)

    def _attribute(self, place: Place, row: dict) -> Iterator[dict]:
        attribute = {"id": text_of(row, "attribute_id"), "persona": text_of(row, "user_id")}
        attribute |= {"text": text_of(row, "text"), "model": row.get("model") or ""}
        attribute["conversations"] = _listed(row, "conversations")
        confidence = _decimal(row.get("confidence"))
        yield attribute | ({} if confidence is None else {"confidence": confidence})

    def items(self) -> Rows:
        """All items, without those about gold responses."""
        rows = self._items()
        return self.convert(
            ((place, row) for place, row in rows if str(row.get("item_id")) not in self.gold),
            self._item,
        )

    def _item(self, place: Place, row: dict) -> Iterator[dict]:
        self._count_lost(row)
        item = {"id": text_of(row, "item_id"), "task": row["task"]}
        item |= {
            name: row[f"{name}_id"] for name in ("query", "attribute") if row.get(f"{name}_id")
        }
        yield item | {
            "candidates": _texts(row, "candidates"),
            "overlap": _whole(row.get("overlap")) or OVERLAP,
        }

    def gold_items(self) -> Iterator[GoldItem]:
        """Items about gold responses, with the claims that their judgments show."""
        for place, row in self._items():
            claims = self.gold.get(str(row.get("item_id")))
            if claims is None:
                continue
            if not claims:
                self.fault(place, "no judgment shows the claims of the gold response")
                continue
            overlap = _whole(row.get("overlap")) or OVERLAP
            self._count_lost(row)
            item, task, query = (str(row.get(key) or "") for key in ("item_id", "task", "query_id"))
            yield GoldItem(place, item, task, query, overlap, str(row.get("gold") or ""), claims)

    def _count_lost(self, row: dict) -> None:
        if row.get("adjudicated"):
            self.lost[RULINGS] += 1
        if any(_whole(row.get(f"{name}_version")) not in (None, "", 1) for name in VERSIONED):
            self.lost[VERSIONS] += 1

    def _items(self) -> Iterator[tuple[Place, dict]]:
        for place, row in self.read("items", None):
            if not isinstance(row.get("kind"), str) or row["kind"] not in KINDS:
                self.fault(place, "items of this kind cannot be imported")
            elif not isinstance(row.get("task"), str) or not TASK_NAME.fullmatch(row["task"]):
                self.fault(place, "“task” is no name of letters, digits, - and _, at most 60")
            elif place not in self.left_out:
                yield place, row

    def judgments(self) -> Rows:
        """The judgments of every kind."""
        rows = self.read("judgments", None)
        return self.convert(rows, self._judgment)

    def _judgment(self, place: Place, row: dict) -> Iterator[dict]:
        kind = KINDS.get(str(row.get("kind")))
        several = kind is not None and kind.SHAPE != "label"
        answer = json_of(row, "answer") if several else row.get("answer")
        lists = {name: _listed(row, name) for name in ("flags", "chips", "marks", "shown")}
        yield row | lists | {"answer": answer, "revision": _revision(row.get("revision"))}


def _whole(value: Any) -> Any:
    """A whole number that a table of text has as digits; anything else as it is."""
    digits = isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 19
    return int(value) if digits else value


def _revision(value: Any) -> int:
    """How often the judgment was changed, from 1; 1 where that is no such number."""
    number = _whole(value)
    return number if type(number) is int and 1 <= number < 1 << 15 else 1


def _decimal(value: Any) -> float | None:
    """A number, also of a table of text; None for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except ValueError:
        number = math.nan
    return number if math.isfinite(number) else None


def _merged(settings: dict, more: dict) -> dict:
    """Settings of a task that allow what either of both allows: a tie of one version is a vote."""
    merged = dict(settings)
    for name, value in more.items():
        before = merged.setdefault(name, value)
        if isinstance(value, list) and isinstance(before, list):
            merged[name] = list(dict.fromkeys([*before, *map(str, value)]))
        elif isinstance(value, int) and isinstance(before, int):
            merged[name] = max(before, value)
        elif before == "off":
            merged[name] = value
    return merged


def _settings(row: dict) -> dict:
    texts = partial(_texts, row)
    return kind_of(row["kind"]).published_config(texts, bool(row.get("attribute_id")))


def _listed(row: dict, column: str) -> Any:
    """The JSON list of a column that may lack."""
    return json_of(row, column) if row.get(column) else []


def _texts(row: dict, column: str) -> list[str]:
    value = row.get(column)
    value = json_of(row, column) if isinstance(value, str) else value or []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise DomainError(f"“{column}” is no list of text")
    return value


class PersonalBench(Layout):
    """``attributes``, ``relevance`` and ``responses``."""

    name = "personalbench"
    TASKS = {"attributes": "traits", "relevance": "matter", "responses": "rate"}
    # The column of a table's judgments, and their key of the label.
    ANSWERS = {
        "attributes": ("verdicts", "verdict"),
        "relevance": ("votes", "vote"),
        "responses": ("ratings", "rating"),
    }
    # fmt: off
    columns = frozenset((
        "attribute_id", "user", "text", "confidence", "verdicts", "label", "counts",
        "item_id", "task", "task_version", "adjudicated", "model", "prompt_id",
        "prompt", "votes", "attribute", "unit_id", "generic", "personalised",
        "ratings", "mean", "points", "explicit_mention", "mention_share",
        "generic_id", "personalised_id", "personalised_strategy",
    ))
    # fmt: on

    def tasks(self) -> dict[str, tuple[str, dict]]:
        """One task a stage."""
        shown = next((row for _place, row in self.read("responses", None)), {})
        self.points = shown["points"] if shown.get("points") in POINTS else POINTS[0]
        settings = {"points": self.points, "attribute": bool(shown.get("attribute_id"))}
        return {
            "traits": ("attribute", {}),
            "matter": ("relevance", {}),
            "rate": ("preference", settings),
        }

    def personas(self) -> Rows:
        """The tables have only the ids of people."""
        for table in self.TASKS:
            for place, row in self.read(table, None):
                if user := row.get("user"):
                    yield place, {"id": str(user), "profile": {"user": str(user)}}

    def attributes(self) -> Rows:
        """The statements that were judged, and those that other stages show."""
        for table in self.TASKS:
            yield from self.convert(self.read(table, self.columns), self._attribute)

    def _attribute(self, place: Place, row: dict) -> Iterator[dict]:
        if not row.get("attribute_id") or not row.get("user"):
            return
        attribute = {"id": text_of(row, "attribute_id"), "persona": text_of(row, "user")}
        yield attribute | {"text": text_of(row, "attribute", "text")}

    def queries(self) -> Rows:
        """The prompts of the second and third stage."""
        for table in ("relevance", "responses"):
            yield from self.convert(self.read(table, None), self._query)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        query = {"id": self._prompt(row), "text": text_of(row, "prompt"), "type": "general"}
        yield query | ({"persona": str(row["user"])} if row.get("user") else {})

    def _prompt(self, row: dict) -> str:
        return str(row.get("prompt_id") or f"q-{_digest(text_of(row, 'prompt'))[:16]}")

    def candidates(self) -> Rows:
        """The generic and the personalised answer."""
        return self.convert(self.read("responses", None), self._candidates)

    def _candidates(self, place: Place, row: dict) -> Iterator[dict]:
        for side, id in zip(("generic", "personalised"), self._answers(row), strict=True):
            strategy = "generic" if side == "generic" else row.get("personalised_strategy") or side
            answer = {"id": id, "query": self._prompt(row), "text": text_of(row, side)}
            yield answer | {"strategy": strategy}

    def _answers(self, row: dict) -> tuple[str, str]:
        unit = text_of(row, "unit_id")
        return (
            str(row.get("generic_id") or f"{unit}-generic"),
            str(row.get("personalised_id") or f"{unit}-personalised"),
        )

    def items(self) -> Rows:
        """One item a row of every stage."""
        for table, task in self.TASKS.items():
            for place, row in self.read(table, None):
                made = self.convert(iter([(place, row)]), self._item)
                yield from ((where, item | {"task": task}) for where, item in made)

    def _item_id(self, row: dict) -> str:
        names = [row.get("attribute_id"), row.get("prompt_id")]
        fallback = row.get("unit_id") or "-".join(str(name) for name in names if name)
        return str(row.get("item_id") or fallback)

    def _item(self, place: Place, row: dict) -> Iterator[dict]:
        if row.get("points") not in (None, self.points):
            raise DomainError(f"“points” is not {self.points}, as in the rest of the table")
        if row.get("adjudicated"):
            self.lost[RULINGS] += 1
        item = {"id": self._item_id(row)}
        if row.get("attribute_id"):
            item["attribute"] = str(row["attribute_id"])
        if "prompt" in row:
            item["query"] = self._prompt(row)
        yield item | ({"candidates": list(self._answers(row))} if "generic" in row else {})

    def judgments(self) -> Rows:
        """The verdicts, votes and ratings that stand in the rows, with the times of annotations."""
        times = {
            (row.get("item_id"), row.get("worker")): {
                name: row.get(name) for name in ("seconds", "submitted_at")
            }
            for _place, row in self.read("annotations", None)
        }
        for table, (column, answer) in self.ANSWERS.items():
            for place, row in self.read(table, None):
                item = self._item_id(row)
                for entry in json_of(row, column) if row.get(column) else ():
                    if not isinstance(entry, dict):
                        self.fault(place, f"“{column}” is no list of objects")
                        break
                    judgment = {"item_id": item, "detail": entry.get("cause")}
                    judgment |= {name: entry.get(name) for name in ("worker", "reason")}
                    judgment |= times.get((item, entry.get("worker")), {})
                    # The generic answer is the item's first, as ratings count.
                    yield place, judgment | {"answer": _label(entry.get(answer))}


def _label(value: Any) -> object:
    return str(value) if type(value) is int else value


LAYOUTS = {layout.name: layout for layout in (PersonaFeedback, Dpo, Long, PersonalBench)}
