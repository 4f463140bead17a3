"""The three stages of PersonalBench: attributes, their relevance, generic or personalised answer.

The published keys come first in every row, our own after them.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from annotation.core.errors import DomainError
from annotation.core.records import number_of
from annotation.datasets.layouts import harness
from annotation.datasets.layouts.long import votes
from annotation.datasets.layouts.soft import Posterior, annotations, soft_rows, soft_tables
from annotation.datasets.records import Attribute, Item, Pair, Verdict, Vote
from annotation.datasets.release_files import json_of, text_of
from annotation.datasets.released import (
    RULINGS,
    Layout,
    Place,
    Rows,
    digest_of,
    list_of,
    times_of,
)
from annotation.datasets.truth import orient
from annotation.datasets.writers import VOTES, Table, TableRows, tables_of

FORMATS = ("jsonl", "parquet")
TIERED = False
ROWS_ARE = "verdicts, votes or ratings"
MAIN = ("attributes", "relevance", "responses")
# The share of content words that is an explicit mention.
THRESHOLD = 0.5
RULES = {
    "attributes": "problematic: more than half of the verdicts are uncertain or rejected; "
    "accepted: more than half are accepted; otherwise null",
    "relevance": "more than half of the votes; otherwise null",
    "responses": "the highest rating: the personalised answer is much better; generic is the "
    "answer whose strategy is A3 or generic",
    "explicit_mention": f"at least {THRESHOLD:.0%} of the attribute's content words that "
    "the prompt has not are in the personalised answer",
}


_COMMON = {
    "item_id": "text",
    "task": "text",
    "task_version": "integer",
    "adjudicated": "text",
}
_VERDICT = {"worker": "text", "verdict": "text", "reason": "text", "cause": "text"}
COLUMNS: dict[str, dict[str, str | list]] = {
    "attributes": {
        "attribute_id": "text",
        "user": "text",
        "text": "text",
        "confidence": "number",
        "verdicts": [_VERDICT],
        "label": "text",
        "counts": [{"verdict": "text", "n": "integer"}],
        **_COMMON,
        "model": "text",
        "since": "text",
        "until": "text",
        "turn": "integer or none",
    },
    "relevance": {
        "attribute_id": "text",
        "prompt_id": "text",
        "prompt": "text",
        "votes": [{"worker": "text", "vote": "text", "reason": "text"}],
        "label": "text",
        "attribute": "text",
        "user": "text",
        "scenario": "text",
        **_COMMON,
        "asked_on": "text",
    },
    "responses": {
        "unit_id": "text",
        "generic": "text",
        "personalised": "text",
        "ratings": [{"worker": "text", "rating": "integer", "reason": "text"}],
        "mean": "number",
        "points": "integer",
        "attribute_id": "text",
        "attribute": "text",
        "prompt_id": "text",
        "prompt": "text",
        "user": "text",
        "scenario": "text",
        "explicit_mention": "boolean",
        "mention_share": "number",
        "generic_id": "text",
        "personalised_id": "text",
        "personalised_strategy": "text",
        **_COMMON,
        "asked_on": "text",
    },
}


CONVERSATIONS: dict[str, str | list] = {
    "attribute_id": "text",
    "user": "text",
    "number": "integer",
    # Who wrote the person's side: human or synthetic.
    "source": "text",
    "messages": "json",
}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """The three stages, the conversations of attributes, and the votes they come from."""
    made = tables_of(format, COLUMNS | {"conversations": CONVERSATIONS})
    asked = harness.stated_tables(("relevance", "responses"))
    return made | {"votes": VOTES} | soft_tables(format) | asked


texts = partial(harness.harness_texts, stated=True)


def _item(item: Item, verdict: Verdict, pair: Pair | None, posterior: Posterior) -> TableRows:
    if item.kind in _ROWS and (made := _ROWS[item.kind](item, verdict)):
        yield made
        yield from _as_task(*made)
        yield from votes(item)
        yield from soft_rows(item, posterior)
        yield from annotations(item)


def _as_task(table: str, row: dict) -> TableRows:
    """A relevance or a rating as a question for harnesses, where people decided it."""
    known = f"\n\nOf this person it is known: {row['attribute']}" if row.get("attribute") else ""
    text = f"A person asks: {row.get('prompt')}{known}\n\n"
    if table == "relevance" and row["label"] in (labels := ("yes", "no")):
        name = f"{row['attribute_id']}/{row['prompt_id']}"
        text += "Should this change the answer in any way?"
        yield from harness.stated_rows(table, name, text, labels, labels.index(row["label"]))
    elif table == "responses" and row["mean"] and 2 * row["mean"] != row["points"] + 1:
        options = (row["generic"], row["personalised"])
        right = int(2 * row["mean"] > row["points"] + 1)
        text += "Which answer is better for this person?"
        yield from harness.stated_rows(table, row["unit_id"], text, options, right)


def _attribute(item: Item, verdict: Verdict) -> tuple[str, dict]:
    attribute = cast(Attribute, item.attribute)
    counts = dict(zip(item.labels, verdict.counts, strict=True))
    problematic = counts["uncertain"] + counts["rejected"]
    verdicts = [_vote(vote, "verdict", vote.label) | {"cause": vote.detail} for vote in item.votes]
    return "attributes", {
        "attribute_id": attribute.id,
        "user": attribute.user_id,
        "text": attribute.text,
        "confidence": attribute.confidence,
        "verdicts": verdicts,
        "label": _most({"accepted": counts["accepted"], "problematic": problematic}),
        "counts": [{"verdict": name, "n": n} for name, n in counts.items()],
        **_common(item),
        "model": attribute.model,
        "since": attribute.since,
        "until": attribute.until,
        "turn": attribute.turn,
    }


def _vote(vote: Vote, name: str, value: object) -> dict:
    return {"worker": vote.worker, name: value, "reason": vote.reason}


def _conversations(attribute: Attribute) -> TableRows:
    """Every conversation that an attribute rests on, as judges see it."""
    rows = zip(attribute.conversations, attribute.sources, strict=True)
    for number, (messages, source) in enumerate(rows, start=1):
        row = {"attribute_id": attribute.id, "user": attribute.user_id, "number": number}
        yield "conversations", row | {"source": source, "messages": messages}


def _relevance(item: Item, verdict: Verdict) -> tuple[str, dict]:
    attribute = cast(Attribute, item.attribute)
    return "relevance", {
        "attribute_id": attribute.id,
        "prompt_id": item.query_id,
        "prompt": item.question,
        "votes": [_vote(vote, "vote", vote.label) for vote in item.votes],
        "label": verdict.winner,
        "attribute": attribute.text,
        "user": item.user_id,
        "scenario": item.scenario,
        **_common(item),
        "asked_on": item.asked_on,
    }


def _response(item: Item, verdict: Verdict) -> tuple[str, dict] | None:
    answers = orient(item)
    if answers is None:
        return None
    generic, personalised, generic_first = answers
    points = len(item.labels)
    labels = [int(cast(str, vote.label)) for vote in item.votes]
    values = [value if generic_first else points + 1 - value for value in labels]
    ratings = zip(item.votes, values, strict=True)
    about = item.attribute
    share = mentioned(about.text, personalised.text, item.question) if about else None
    return "responses", {
        "unit_id": item.id,
        "generic": generic.text,
        "personalised": personalised.text,
        "ratings": [_vote(vote, "rating", value) for vote, value in ratings],
        "mean": sum(values) / len(values) if values else None,
        "points": points,
        "attribute_id": about and about.id,
        "attribute": about and about.text,
        "prompt_id": item.query_id,
        "prompt": item.question,
        "user": item.user_id,
        "scenario": item.scenario,
        "explicit_mention": explicit(share),
        "mention_share": share,
        "generic_id": generic.id,
        "personalised_id": personalised.id,
        "personalised_strategy": personalised.strategy,
        **_common(item),
        "asked_on": item.asked_on,
    }


def _common(item: Item) -> dict:
    return {
        "item_id": item.id,
        "task": item.task,
        "task_version": item.task_version,
        "adjudicated": None if item.adjudicated is None else str(item.adjudicated),
    }


def _most(counts: dict) -> str | None:
    """The value of more than half of the votes, or None."""
    best = max(counts, key=lambda value: counts[value])
    return best if 2 * counts[best] > sum(counts.values()) else None


_ROWS = {"attribute": _attribute, "relevance": _relevance, "preference": _response}
ROWS = {"attributes": _conversations, "items": _item}


# --- Whether an answer mentions an attribute of the person explicitly -----------------------------

# Model judges reward such mentions and people do not. The method names the flag, not how it is
# computed: ours is the share of the attribute's content words that the answer has and the prompt
# has not. What carries no meaning of its own in statements about a person:
_EMPTY = """
    a about after all also an and any are as at be been being but by can could did do does for
    from had has have he her hers him his how if in into is it its like likes may might more most
    much of often on one or other people person prefer prefers she should so some someone than
    that the their them they this those to too user users very want wants was were what when
    where which who will with would you your"""
EMPTY = frozenset(_EMPTY.split())
# Words of alphabets; of scripts without blanks, every two neighbouring signs.
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}|\d+")
_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ENDING = re.compile(r"(?<=\w{3})(ings?|edly|ers?|ed|es|s|ly)$")


def content_words(text: str) -> set[str]:
    """Lower-case words of ``text`` that mean something, without their English endings."""
    text = text.lower()
    runs = _SIGNS.findall(text)
    signs = {run[n : n + 2] for run in runs for n in range(max(1, len(run) - 1))}
    return {_ENDING.sub("", word) for word in _WORD.findall(text) if word not in EMPTY} | signs


def mentioned(attribute: str, answer: str, prompt: str = "") -> float | None:
    """Share (0 to 1) of the attribute's content words that are in ``answer`` and not in ``prompt``.

    None where the attribute has only content words that the prompt has too.
    """
    words = content_words(attribute) - content_words(prompt)
    return len(words & content_words(answer)) / len(words) if words else None


def explicit(share: float | None) -> bool | None:
    """Whether that share counts as an explicit mention; None where there is none."""
    return None if share is None else share >= THRESHOLD


# --- Read as rows of a study, one task a stage ----------------------------------------------------

POINTS = (5, 7)
SOURCES = "attributes from conversations of several sources: that of the first stands for all"


class PersonalBench(Layout):
    """``attributes``, ``relevance`` and ``responses``."""

    name = "personalbench"
    LACKS = ("kinds", "persons", "profiles", "memories", "types", "languages", "order")
    TASKS = {"attributes": "traits", "relevance": "matter", "responses": "rate"}
    # The column of a table's judgments, and their key of the label.
    ANSWERS = {
        "attributes": ("verdicts", "verdict"),
        "relevance": ("votes", "vote"),
        "responses": ("ratings", "rating"),
    }
    columns = frozenset().union(*COLUMNS.values())

    def tasks(self) -> dict[str, tuple[str, dict]]:
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
                "confidence": number_of(row.get("confidence")),
                "model": row.get("model") or "",
            }
        )

    def queries(self) -> Rows:
        for table in ("relevance", "responses"):
            yield from self.convert(self.read(table, None), self._query)

    def _query(self, place: Place, row: dict) -> Iterator[dict]:
        query = {"id": self._prompt(row), "text": text_of(row, "prompt"), "type": "general"}
        query |= {name: row[name] for name in ("scenario", "asked_on") if row.get(name)}
        yield query | ({"persona": str(row["user"])} if row.get("user") else {})

    def _prompt(self, row: dict) -> str:
        return str(row.get("prompt_id") or f"q-{digest_of(text_of(row, 'prompt'))[:16]}")

    def candidates(self) -> Rows:
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
