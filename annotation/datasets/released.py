"""The rows of a release, ours or a published one, as rows of a study bundle.

A layout gives a study ``tasks``, and has a method for each file of a bundle. These yield (place,
row), and each reads the release's files anew, so that memory does not grow with them.
"""

import hashlib
import re
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from annotation.core.errors import DomainError
from annotation.core.records import number_of
from annotation.datasets import release_files
from annotation.datasets.check import MANIFEST, read_manifest
from annotation.datasets.records import as_texts
from annotation.datasets.release_files import HALVES, Faults, json_of, text_of
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.kinds.files import ReleasedAnswer
from annotation.studies.bundle_rows import DEFAULT_OVERLAP

Rows = Iterator[tuple["Place", dict]]

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
    "languages": "languages of queries",
    "strategies": "strategies and models of answers",
    "order": "the order in which answers were shown",
    "detail": "how strong a preference is",
    "flags": "flags",
    "chips": "chips of reasons",
    "marks": "marks in answers",
    "times": "times of judgments, and how often they were changed",
}
PROMPTS = "answers with the template, digest and parameters of their prompt: their texts come in"


class Place(NamedTuple):
    """Where a row stands: file and number from 1."""

    file: str
    line: int


class GoldItem(NamedTuple):
    """An item about a gold response, with its claims by their numbers."""

    place: Place
    id: str
    task: str
    query: str
    overlap: int
    gold: str
    claims: dict[int, str]


class PublishedPair(NamedTuple):
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
        # The tier and winner that an item came with.
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
        table = "annotations" if release_files.parts(self.folder, "annotations") else "votes"
        for place, row in self.read(table, None):
            if "kind" in row and not kind_of(row["kind"]).chooses:
                self.lost[f"judgments of the kind {row['kind']}: pairs come in as choices"] += 1
                continue
            item = row.get("item_id", row.get("task"))
            yield place, row | {"item_id": item, "answer": row.get("label")}

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
            self.faults.add(*place, reason)

    def counts(self, items: set[str]) -> dict[str, dict[str, int]]:
        """{half: {tier: pairs}} among ``items``."""
        counted: dict[str, Counter] = defaultdict(Counter)
        for item, pair in self.pairs.items():
            if item in items:
                counted[pair.half][pair.tier] += 1
        return {half: dict(tiers) for half, tiers in counted.items()}


def bare_persona(place: Place, row: dict) -> Iterator[dict]:
    if user := user_of(row):
        yield {"id": user, "profile": {"user_id": user}}


def user_of(row: dict) -> str:
    return text_of(row, "user_id") if row.get("user_id") not in (None, "") else ""


def persona_of(row: dict) -> dict:
    """The ``persona`` of a query that is somebody's."""
    return {"persona": user} if (user := user_of(row)) else {}


def stated(row: dict, *names: str) -> dict:
    """Those of the columns that say something."""
    return {name: row[name] for name in names if row.get(name)}


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


def list_of(row: dict, column: str) -> Any:
    """The JSON list of a column that may lack."""
    return json_of(row, column) if row.get(column) else []


def times_of(row: dict) -> dict:
    """When an attribute or a memory holds, and which turn states it; what is not known lacks."""
    names = [name for name in ("since", "until", "turn") if row.get(name) not in (None, "")]
    return {name: whole_of(row[name]) for name in names}


def texts_of(row: dict, column: str) -> list[str]:
    value = row.get(column)
    value = json_of(row, column) if isinstance(value, str) else value or []
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise DomainError(f"“{column}” is no list of text")
    return value


# --- The long form --------------------------------------------------------------------------------


TASK_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
VERSIONED = ("task", "query", "persona")


class Long(Layout):
    """``items``, ``candidates``, ``personas``, ``attributes``, ``judgments`` and ``answers``.

    Version 1 has no ``answers``: they stand in the judgments, as JSON.
    """

    name = "long"
    LACKS = ("persons", "memories")

    def tasks(self) -> dict[str, tuple[str, dict]]:
        """The tasks of the items, with the settings of the manifest and of their items."""
        tasks: dict[str, tuple[str, dict]] = {}
        self.gold: dict[str, dict[int, str]] = defaultdict(dict)
        manifest = self._tasks_of_manifest()
        for place, row in self._items():
            try:
                kind = kind_of(row["kind"])
                settings = _settings(row, manifest.get(row["task"], {}).get("config"))
                kind.check_config(settings)
            except DomainError as refusal:
                self.fault(place, refusal.sentence)
                continue
            if "gold" in kind.shows:
                claims = self.gold[str(row.get("item_id"))]
                for claim in list_of(row, "claims"):
                    claims[whole_of(claim.get("number"))] = claim.get("text") or ""
            earlier = tasks.get(row["task"], (kind.code, {}))[1]
            tasks[row["task"]] = kind.code, _merged(earlier, settings)
        self._collect_claims()
        for name, (code, settings) in tasks.items():
            task = manifest.get(name, {})
            if code == task.get("kind") and isinstance(task.get("config"), dict):
                # Nobody owns what is imported.
                tasks[name] = code, _merged(task["config"], settings) | {"owner_only": False}
        return tasks

    def _collect_claims(self) -> None:
        """The claims of gold responses, which in version 1 judgments alone show."""
        for _place, row in self.judgments() if self.gold and not self.has_rows else ():
            if (item := str(row.get("item_id"))) in self.gold and row.get("kind") in KINDS:
                released = ReleasedAnswer(row["answer"], str(row.get("detail") or ""))
                self.gold[item] |= kind_of(row["kind"]).files.claims(released)

    def _tasks_of_manifest(self) -> dict[Any, dict]:
        """{name: the newest version of the task} of those that the manifest names."""
        there = (self.folder / MANIFEST).is_file()
        rules = read_manifest(self.folder).get("rules") if there else None
        named = rules.get("tasks") if isinstance(rules, dict) else None
        rows = [task for task in named or () if isinstance(task, dict)]
        rows.sort(key=lambda task: str(task.get("version")).zfill(9))
        return {task.get("name"): task for task in rows}

    def personas(self) -> Rows:
        """All personas; without their table, only a person's id is available."""
        if not release_files.parts(self.folder, "personas"):
            return self.convert(self._items(), bare_persona)
        return self.convert(self.read("personas", None), self._persona)

    def _persona(self, place: Place, row: dict) -> Iterator[dict]:
        yield {"id": text_of(row, "user_id"), "profile": json_of(row, "profile")}

    def queries(self) -> Rows:
        return self.convert(self._items(), self._query)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        if not row.get("query_id"):
            return
        turns = list_of(row, "messages")
        yield {
            "id": text_of(row, "query_id"),
            "text": text_of(row, "question"),
            **({"messages": turns} if len(turns) > 1 else {}),
            **stated(row, "need", "type", "scenario", "asked_on", "language"),
            **persona_of(row),
        }

    def candidates(self) -> Rows:
        if not release_files.parts(self.folder, "candidates"):
            self.faults.add("candidates", None, "the table of answers is missing")
        return self.convert(self.read("candidates", None), self._candidate)

    def _candidate(self, place: Place, row: dict) -> Iterator[dict]:
        if row.get("template") or row.get("prompt_digest"):
            self.lost[PROMPTS] += 1
        yield {
            "id": text_of(row, "candidate_id"),
            "query": text_of(row, "query_id"),
            "model": row.get("model") or "",
            "strategy": row.get("strategy") or "",
            "text": text_of(row, "text"),
            "urls": list_of(row, "urls"),
        }

    def attributes(self) -> Rows:
        return self.convert(self.read("attributes", None), self._attribute)

    def _attribute(self, place: Place, row: dict) -> Iterator[dict]:
        confidence = number_of(row.get("confidence"))
        yield {
            "id": text_of(row, "attribute_id"),
            "persona": text_of(row, "user_id"),
            "text": text_of(row, "text"),
            "model": row.get("model") or "",
            "conversations": list_of(row, "conversations"),
            "source": row.get("source") or "",
            **times_of(row),
            **({} if confidence is None else {"confidence": confidence}),
        }

    def items(self) -> Rows:
        """All items, without those about gold responses."""
        return self.convert(self._items(), self._item)

    def _item(self, place: Place, row: dict) -> Iterator[dict]:
        if str(row.get("item_id")) in self.gold:
            return
        self._count_lost(row)
        about = {"query": row.get("query_id"), "attribute": row.get("attribute_id")}
        yield {
            "id": text_of(row, "item_id"),
            "task": row["task"],
            **stated(about, *about),
            "candidates": texts_of(row, "candidates"),
            "overlap": whole_of(row.get("overlap")) or DEFAULT_OVERLAP,
        }

    def gold_items(self) -> Iterator[GoldItem]:
        """Items about gold responses, with their claims."""
        for place, row in self._items():
            claims = self.gold.get(str(row.get("item_id")))
            if claims is None:
                continue
            if not claims:
                self.fault(place, "the claims of the gold response are missing")
                continue
            overlap = whole_of(row.get("overlap")) or DEFAULT_OVERLAP
            self._count_lost(row)
            item, task, query = (str(row.get(key) or "") for key in ("item_id", "task", "query_id"))
            yield GoldItem(place, item, task, query, overlap, str(row.get("gold") or ""), claims)

    def _count_lost(self, row: dict) -> None:
        if row.get("adjudicated"):
            self.lost[RULINGS] += 1
        if any(whole_of(row.get(f"{name}_version")) not in (None, "", 1) for name in VERSIONED):
            self.lost[VERSIONS] += 1

    def _items(self) -> Iterator[tuple[Place, dict]]:
        for place, row in self.read("items", None):
            if not isinstance(row.get("kind"), str) or row["kind"] not in KINDS:
                self.fault(place, "items of this kind cannot be imported")
            elif not isinstance(row.get("task"), str) or not TASK_NAME.fullmatch(row["task"]):
                self.fault(place, "“task” is no name of letters, digits, - and _, at most 60")
            elif place not in self.left_out:
                yield place, row

    @property
    def has_rows(self) -> bool:
        """Whether an answer is a row: since version 2."""
        return bool(release_files.parts(self.folder, "answers"))

    def judgments(self) -> Rows:
        by_judgment = _AnswersByJudgment(self.read("answers", None))
        answers = by_judgment.of if self.has_rows else _in_one_cell
        yield from self.convert(self.read("judgments", None), partial(self._judgment, answers))
        if left := by_judgment.left():
            words = f"{left:,} answers are of no judgment, or more than it has"
            self.faults.add("answers", None, words)

    def _judgment(self, answers: Callable[[dict], dict], place: Place, row: dict) -> Iterator[dict]:
        lists = {name: list_of(row, name) for name in ("flags", "chips", "marks", "shown")}
        yield row | answers(row) | lists | {"revision": revision_of(row.get("revision"))}


class _AnswersByJudgment:
    """The rows of ``answers`` by their judgment.

    They are read on until a judgment has as many as it says: in our order none is held back.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.held: dict[str, list[dict]] = defaultdict(list)

    def of(self, row: dict) -> dict:
        """``answers`` of a row of ``judgments``; DomainError where they are others than it says."""
        judgment, number = text_of(row, "judgment"), whole_of(row.get("answers"))
        if type(number) is not int:
            raise DomainError("“answers” is not how many answers the judgment has")
        while len(self.held[judgment]) < number and self._read():
            pass
        answers = self.held.pop(judgment)
        if len(answers) != number:
            raise DomainError(f"{len(answers):,} of its {number:,} answers are there")
        return {"answers": [_answer_row(each) for each in answers]}

    def left(self) -> int:
        """How many rows are of no judgment that was asked for."""
        while self._read():
            pass
        return sum(map(len, self.held.values()))

    def _read(self) -> bool:
        _place, row = next(self.rows, (None, None))
        if row is not None:
            self.held[str(row.get("judgment"))].append(row)
        return row is not None


def _answer_row(row: dict) -> dict:
    """A row of ``answers`` with whole numbers as such, and None for what it does not say."""
    texts = {name: row.get(name) for name in ("question", "option", "label", "text")}
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise DomainError(f"“{name}” of an answer is no text")
    numbers = {name: number_of(row.get(name)) for name in ("part", "value", "start", "end")}
    whole = {name: int(n) if n is not None and n.is_integer() else n for name, n in numbers.items()}
    chips = {"chips": texts_of(row, "chips")}
    return {name: text or None for name, text in texts.items()} | whole | chips


def _in_one_cell(row: dict) -> dict:
    """``answer`` of a row of ``judgments`` in version 1: a label, or JSON."""
    kind = KINDS.get(str(row.get("kind")))
    several = kind is not None and kind.shape != "label"
    return {"answer": json_of(row, "answer") if several else row.get("answer")}


def _merged(settings: dict, more: dict) -> dict:
    """Settings of a task that allow what either of both allows: a tie of one version is a vote."""
    merged = dict(settings)
    for name, value in more.items():
        before = merged.setdefault(name, value)
        if name == "questions":
            merged[name] = value
        elif isinstance(value, list) and isinstance(before, list):
            merged[name] = list(dict.fromkeys([*before, *map(str, value)]))
        elif isinstance(value, int) and isinstance(before, int):
            merged[name] = max(before, value)
        elif before == "off":
            merged[name] = value
    return merged


def _settings(row: dict, stated: Any) -> dict:
    """What the item shows of its task's settings; its questions only the manifest tells."""
    kind = kind_of(row["kind"])
    if kind.shape == "questions":
        if not isinstance(stated, dict):
            raise DomainError("only the manifest tells the questions of its task, and it does not")
        return stated
    return kind.files.published_config(partial(texts_of, row), bool(row.get("attribute_id")))


# --- Pairs ----------------------------------------------------------------------------------------


TASK = "better"


class Pairs(Layout):
    """Layouts whose rows are pairs: a question, a chosen and a rejected answer."""

    # fmt: off
    LACKS: tuple[str, ...] = (
        "kinds", "persons", "attributes", "languages", "order", "detail", "flags", "chips", "marks",
    )
    # fmt: on
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
        settings = {"options": 2, "tie": "tie" in labels, "none": "none" in labels}
        return {TASK: ("selection", settings)}

    @abstractmethod
    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        """All pairs; a row has ``half`` and ``tier`` too."""

    def queries(self) -> Rows:
        """Each question of each person once."""
        return self.convert(self.pair_rows(), self._query)

    def candidates(self) -> Rows:
        return self.convert(self.pair_rows(), self._candidates)

    def items(self) -> Rows:
        """The pairs. The order of the answers does not reveal which was chosen."""
        return self.convert(self.pair_rows(), self._item)

    def _ids(self, place: Place, row: dict) -> tuple[str, str, str, str]:
        """Ids of item, query, chosen and rejected answer."""
        asked = digest_of([row["half"], user_of(row), text_of(row, self.question)])
        item = row.get("item_id") or f"{row['half']}-{row['tier'] or 'pair'}-{place.line}"
        query = row.get("query_id") or f"q-{asked[:16]}"
        chosen = row.get("chosen_id") or f"{item}-chosen"
        reject = row.get("reject_id") or f"{item}-reject"
        return str(item), str(query), str(chosen), str(reject)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        yield {
            "id": self._ids(place, row)[1],
            "text": text_of(row, self.question),
            "messages": row.get("messages") or [],
            "type": row["half"],
            "scenario": row.get("scenario") or "",
            **stated(row, "asked_on"),
            **persona_of(row),
        }

    def _candidates(self, place: Place, row: dict) -> Iterator[dict]:
        _item, query, *ids = self._ids(place, row)
        sides = (("chosen", "chosen"), (self.rejected, "reject"))
        for id, (column, side) in zip(ids, sides, strict=True):
            about = {name: row.get(f"{side}_{name}") or "" for name in ("model", "strategy")}
            yield {"id": id, "query": query, "text": text_of(row, column)} | about

    def _item(self, place: Place, row: dict) -> Iterator[dict]:
        item, query, *ids = self._ids(place, row)
        self.pairs.setdefault(item, PublishedPair(row["half"], row["tier"], ids[0]))
        votes = row.get("n")
        overlap = {"overlap": votes} if type(votes) is int and votes > DEFAULT_OVERLAP else {}
        order = sorted(ids, key=digest_of)
        yield {"id": item, "task": TASK, "query": query, "candidates": order} | overlap


class Dpo(Pairs):
    """``pairs``: prompt, chosen, rejected, texts or messages; or question, chosen, reject."""

    name = "dpo"
    LACKS = (*Pairs.LACKS, "memories", "queries", "strategies")
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
        if row.get("persona") is None:
            yield from bare_persona(place, row)
        elif user := user_of(row):
            yield {"id": user, "profile": json_of(row, "persona")}

    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        """The pairs; their half is the question's type, if it is there."""
        return self.convert(self.read("pairs", self.columns), self._pair)

    def _pair(self, _place: Place, row: dict) -> Iterator[dict]:
        half = row.get("type") if row.get("type") in HALVES else "specific"
        texts = {"prompt": row.get("prompt", row.get("question"))}
        texts["rejected"] = row.get("rejected", row.get("reject"))
        yield as_texts(row | texts) | {"half": half, "tier": str(row.get("tier") or "")}
