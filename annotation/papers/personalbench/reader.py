"""The layout `personalbench`: one task a stage of the paper."""

from collections.abc import Iterator
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets.release_files import json_of, text_of
from annotation.datasets.released.base import (
    RULINGS,
    Layout,
    Place,
    Rows,
    decimal_of,
    digest_of,
    list_of,
    times_of,
)

POINTS = (5, 7)
SOURCES = "attributes from conversations of several sources: that of the first stands for all"


class PersonalBench(Layout):
    """``attributes``, ``relevance`` and ``responses``."""

    name = "personalbench"
    LACKS = ("kinds", "persons", "profiles", "memories", "types", "order")
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
        "generic_id", "personalised_id", "personalised_strategy", "scenario", "since", "until",
        "turn", "asked_on",
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
        self._chats: dict[str, list[tuple[str, list]]] = {}
        for _place, row in self.read("conversations", None):
            chat = str(row.get("source") or ""), list_of(row, "messages")
            self._chats.setdefault(str(row.get("attribute_id")), []).append(chat)
        self._judged: set[str] = set()
        for table in self.TASKS:
            yield from self.convert(self.read(table, self.columns), self._attribute)

    def _attribute(self, place: Place, row: dict) -> Iterator[dict]:
        if not row.get("attribute_id") or not row.get("user"):
            return
        if "text" in row:
            self._judged.add(row["attribute_id"])
        elif row["attribute_id"] in self._judged:
            return  # The table of attributes says more of it.
        attribute = {"id": text_of(row, "attribute_id"), "persona": text_of(row, "user")}
        chats = self._chats.get(attribute["id"], [])
        if len({source for source, _chat in chats}) > 1:
            self.lost[SOURCES] += 1
        yield (
            attribute
            | times_of(row)
            | {
                "text": text_of(row, "attribute", "text"),
                "conversations": [chat for _source, chat in chats],
                "source": chats[0][0] if chats else "",
                "confidence": decimal_of(row.get("confidence")),
                "model": row.get("model") or "",
            }
        )

    def queries(self) -> Rows:
        """The prompts of the second and third stage."""
        for table in ("relevance", "responses"):
            yield from self.convert(self.read(table, None), self._query)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        query = {"id": self._prompt(row), "text": text_of(row, "prompt"), "type": "general"}
        query |= {name: row[name] for name in ("scenario", "asked_on") if row.get(name)}
        yield query | ({"persona": str(row["user"])} if row.get("user") else {})

    def _prompt(self, row: dict) -> str:
        return str(row.get("prompt_id") or f"q-{digest_of(text_of(row, 'prompt'))[:16]}")

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
