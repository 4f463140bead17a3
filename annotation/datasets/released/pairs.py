"""Layouts whose rows are pairs, ours or as published."""

from abc import abstractmethod
from collections.abc import Iterator

from annotation.datasets.conversations import as_texts
from annotation.datasets.release_files import json_of, text_of
from annotation.datasets.released.base import (
    OVERLAP,
    Layout,
    Place,
    PublishedPair,
    Rows,
    bare_persona,
    digest_of,
    user_of,
)

# A published benchmark spells one folder so.
HALVES = {"specific": ("specific", "spedific"), "general": ("general",)}
TASK = "better"


class Pairs(Layout):
    """Layouts whose rows are pairs: a question, a chosen and a rejected answer."""

    LACKS: tuple[str, ...] = (
        "kinds",
        "persons",
        "attributes",
        "order",
        "detail",
        "flags",
        "chips",
        "marks",
    )
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
        asked = digest_of([row["half"], user_of(row), text_of(row, self.question)])
        query = row.get("query_id") or f"q-{asked[:16]}"
        chosen = row.get("chosen_id") or f"{item}-chosen"
        reject = row.get("reject_id") or f"{item}-reject"
        return str(item), str(query), str(chosen), str(reject)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        query = {"id": self._ids(place, row)[1], "text": text_of(row, self.question)}
        query |= {"type": row["half"], "scenario": row.get("scenario") or ""}
        query |= {"asked_on": row["asked_on"]} if row.get("asked_on") else {}
        yield (
            {"messages": row.get("messages") or []}
            | query
            | ({"persona": user} if (user := user_of(row)) else {})
        )

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
        overlap = {"overlap": votes} if type(votes) is int and votes > OVERLAP else {}
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
        if not user_of(row):
            return
        if row.get("persona") is None:
            yield from bare_persona(place, row)
            return
        yield {"id": user_of(row), "profile": json_of(row, "persona")}

    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        """The pairs; their half is the question's type, if it is there."""
        return self.convert(self.read("pairs", self.columns), self._pair)

    def _pair(self, _place: Place, row: dict) -> Iterator[dict]:
        half = row.get("type") if row.get("type") in HALVES else "specific"
        texts = {"prompt": row.get("prompt", row.get("question"))}
        texts["rejected"] = row.get("rejected", row.get("reject"))
        yield as_texts(row | texts) | {"half": half, "tier": str(row.get("tier") or "")}
