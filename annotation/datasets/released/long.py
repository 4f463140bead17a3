"""The layout `long`: tasks of every kind, with settings as manifest and items show them."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets import release_files
from annotation.datasets.check import MANIFEST, read_manifest
from annotation.datasets.release_files import json_of, text_of
from annotation.datasets.released.base import (
    OVERLAP,
    PROMPTS,
    RULINGS,
    VERSIONS,
    GoldItem,
    Layout,
    Place,
    Rows,
    bare_persona,
    decimal_of,
    list_of,
    revision_of,
    texts_of,
    times_of,
    user_of,
    whole_of,
)
from annotation.judging.kinds import KINDS, kind_of
from annotation.judging.kinds.files import ReleasedAnswer

TASK_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
VERSIONED = ("task", "query", "persona")


class Long(Layout):
    """``items``, ``candidates``, ``personas``, ``attributes`` and ``judgments``."""

    name = "long"
    LACKS = ("persons", "memories")

    def tasks(self) -> dict[str, tuple[str, dict]]:
        """The tasks of the items, with the settings of the manifest and of their items."""
        tasks: dict[str, tuple[str, dict]] = {}
        self.gold: dict[str, dict[int, str]] = {}
        stated = {task.get("name"): task for task in self._stated_tasks()}
        for place, row in self._items():
            try:
                kind = kind_of(row["kind"])
                settings = _settings(row, stated.get(row["task"], {}).get("config"))
                kind.check_config(settings)
            except DomainError as refusal:
                self.fault(place, refusal.sentence)
                continue
            if "gold" in kind.shows:
                self.gold.setdefault(str(row.get("item_id")), {})
            earlier = tasks.get(row["task"], (kind.code, {}))[1]
            tasks[row["task"]] = kind.code, _merged(earlier, settings)
        self._collect_claims()
        for name, task in stated.items():
            code, settings = tasks.get(str(name), ("", {}))
            if code == task.get("kind") and isinstance(task.get("config"), dict):
                # Nobody owns what is imported.
                config = _merged(task["config"], settings) | {"owner_only": False}
                tasks[str(name)] = code, config
        return tasks

    def _collect_claims(self) -> None:
        """The claims of gold responses, which judgments alone show."""
        for _place, row in self.judgments() if self.gold else ():
            if (item := str(row.get("item_id"))) in self.gold and row.get("kind") in KINDS:
                released = ReleasedAnswer(row["answer"], str(row.get("detail") or ""))
                self.gold[item] |= kind_of(row["kind"]).files.claims(released)

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
            return self.convert(self._items(), bare_persona)
        return self.convert(self.read("personas", None), self._persona)

    def _persona(self, place: Place, row: dict) -> Iterator[dict]:
        yield {"id": text_of(row, "user_id"), "profile": json_of(row, "profile")}

    def queries(self) -> Rows:
        """The questions of the items."""
        return self.convert(self._items(), self._query)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        if row.get("query_id"):
            query = {"id": text_of(row, "query_id"), "text": text_of(row, "question")}
            turns = list_of(row, "messages")
            query |= {"messages": turns} if len(turns) > 1 else {}
            more = ("need", "type", "scenario", "asked_on")
            query |= {name: row[name] for name in more if row.get(name)}
            yield query | ({"persona": user_of(row)} if user_of(row) else {})

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
        yield candidate | {"text": text_of(row, "text"), "urls": list_of(row, "urls")}

    def attributes(self) -> Rows:
        """All attributes with their conversations."""
        return self.convert(self.read("attributes", None), self._attribute)

    def _attribute(self, place: Place, row: dict) -> Iterator[dict]:
        attribute = {"id": text_of(row, "attribute_id"), "persona": text_of(row, "user_id")}
        attribute |= {"text": text_of(row, "text"), "model": row.get("model") or ""}
        attribute["conversations"] = list_of(row, "conversations")
        attribute["source"] = row.get("source") or ""
        attribute |= times_of(row)
        confidence = decimal_of(row.get("confidence"))
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
            "candidates": texts_of(row, "candidates"),
            "overlap": whole_of(row.get("overlap")) or OVERLAP,
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
            overlap = whole_of(row.get("overlap")) or OVERLAP
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

    def judgments(self) -> Rows:
        """The judgments of every kind."""
        rows = self.read("judgments", None)
        return self.convert(rows, self._judgment)

    def _judgment(self, place: Place, row: dict) -> Iterator[dict]:
        kind = KINDS.get(str(row.get("kind")))
        several = kind is not None and kind.shape != "label"
        answer = json_of(row, "answer") if several else row.get("answer")
        lists = {name: list_of(row, name) for name in ("flags", "chips", "marks", "shown")}
        yield row | lists | {"answer": answer, "revision": revision_of(row.get("revision"))}


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
