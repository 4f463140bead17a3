"""Everything in long form: one row a judgment, an item, an answer, a persona, an attribute."""

from collections.abc import Callable
from itertools import chain, repeat

from annotation.datasets.columns import Columns, json_text, mapped
from annotation.datasets.layouts.soft import soft_row, soft_tables
from annotation.datasets.records import Attribute, Chunk, Item, Pair, Persona, Verdict
from annotation.datasets.soft_labels import Posterior
from annotation.datasets.writers import VOTES, Rows, Table, TableColumns, TableRows

FORMATS = ("jsonl", "csv", "parquet")
SHARDED = True
# Raw votes claim no tier; a release of them shows why the tiers are not in their bands.
TIERED = False
ROWS_ARE = "items"

JUDGMENTS = {
    "item_id": "text",
    "query_id": "text",
    "user_id": "text",
    "kind": "text",
    "task": "text",
    "task_version": "integer",
    "query_version": "integer",
    "persona_version": "integer",
    "attribute_id": "text",
    "worker": "text",
    # The label; JSON where the answer is many scores or verdicts.
    "answer": "text",
    # How much better, or why not.
    "detail": "text",
    "shown": "texts",
    "reason": "text",
    "flags": "texts",
    "chips": "texts",
    "marks": "json",
    "seconds": "number",
    "submitted_at": "text",
    "revision": "integer",
    "imported": "boolean",
}
ITEMS = {
    "item_id": "text",
    "task": "text",
    "task_version": "integer",
    "kind": "text",
    "query_id": "text",
    "query_version": "integer",
    "question": "text",
    "need": "text",
    "type": "text",
    "scenario": "text",
    "user_id": "text",
    "persona_version": "integer",
    "attribute_id": "text",
    "attribute": "text",
    "gold": "text",
    "criteria": "texts",
    "candidates": "texts",
    "labels": "texts",
    "votes": "integers",
    "judgments": "integer",
    "overlap": "integer",
    "winner": "text",
    "share": "number",
    "tier": "text",
    "adjudicated": "text",
}
CANDIDATES = {
    "candidate_id": "text",
    "query_id": "text",
    "query_version": "integer",
    "text": "text",
    "strategy": "text",
    "model": "text",
    "urls": "json",
    "template": "text",
    "prompt_digest": "text",
    "parameters": "json",
}
ATTRIBUTES = {
    "attribute_id": "text",
    "user_id": "text",
    "text": "text",
    "confidence": "number",
    "model": "text",
    "conversations": "json",
}
PERSONAS = {"user_id": "text", "persona_version": "integer", "profile": "json"}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """``judgments``, ``items``, ``candidates``, ``personas``, ``attributes``; and votes.csv."""
    columns = {
        "judgments": JUDGMENTS,
        "items": ITEMS,
        "candidates": CANDIDATES,
        "personas": PERSONAS,
        "attributes": ATTRIBUTES,
    }
    made = {
        name: Table(f"{name}.{format}", format, keys, config=name) for name, keys in columns.items()
    }
    return made | {"votes": VOTES, "soft_labels": soft_tables(format)["soft_labels"]}


def is_main(name: str) -> bool:
    """Whether the table ``name`` holds what the release is for."""
    return name in ("items", "judgments")


def votes(chunk: Chunk, wanted: Callable = lambda item: item.labels) -> TableColumns:
    """The rows of votes.csv for the labels of the ``wanted`` items; shared with other layouts."""
    rows = (
        zip(repeat(item.id), item.voters, item.given_labels, strict=False)
        for item in chunk.items
        if wanted(item)
    )
    yield "votes", Rows(list(chain.from_iterable(rows)))


def _item(item: Item, verdict: Verdict, pair: Pair | None, posterior: Posterior) -> TableRows:
    yield "items", _item_row(item, verdict)
    # The judgments are the annotators' labels already.
    if item.labels and item.votes:
        yield "soft_labels", soft_row(item, posterior)


def _item_row(item: Item, verdict: Verdict) -> dict:
    return {
        "item_id": item.id,
        "task": item.task,
        "task_version": item.task_version,
        "kind": item.kind,
        "query_id": item.query_id,
        "query_version": item.query_version,
        "question": item.question,
        "need": item.need,
        "type": item.type,
        "scenario": item.scenario,
        "user_id": item.user_id,
        "persona_version": item.persona_version,
        "attribute_id": item.attribute.id if item.attribute else "",
        "attribute": item.attribute.text if item.attribute else "",
        "gold": item.gold,
        "criteria": list(item.criteria),
        "candidates": [answer.id for answer in item.answers],
        "labels": list(item.labels),
        "votes": list(verdict.counts),
        "judgments": len(item.votes),
        "overlap": item.overlap,
        "winner": verdict.winner,
        "share": verdict.share,
        "tier": verdict.tier,
        "adjudicated": _text(item.adjudicated),
    }


def _of_item(item: Item) -> dict:
    """The columns that all judgments of an item share."""
    return {
        "item_id": item.id,
        "query_id": item.query_id,
        "user_id": item.user_id,
        "kind": item.kind,
        "task": item.task,
        "task_version": item.task_version,
        "query_version": item.query_version,
        "persona_version": item.persona_version,
        "attribute_id": item.attribute.id if item.attribute else "",
    }


def _judgments(chunk: Chunk) -> TableColumns:
    texts = chunk.votes.columns.texts
    answer = mapped(texts["answer"], lambda text: text if text[0] == '"' else json_text(text))
    yield "judgments", Columns(chunk.spread(_of_item) | texts | {"answer": answer})
    yield from votes(chunk)


def _text(answer: object) -> str | None:
    return answer if answer is None or isinstance(answer, str) else json_text(answer)


def _candidates(columns: Columns) -> TableColumns:
    yield "candidates", columns


def _persona(persona: Persona) -> TableRows:
    row = {
        "user_id": persona.user_id,
        "persona_version": persona.version,
        "profile": persona.profile,
    }
    yield "personas", row


def _attribute(attribute: Attribute) -> TableRows:
    row = {
        "attribute_id": attribute.id,
        "user_id": attribute.user_id,
        "text": attribute.text,
        "confidence": attribute.confidence,
        "model": attribute.model,
        "conversations": attribute.conversations,
    }
    yield "attributes", row


ROWS = {
    "personas": _persona,
    "attributes": _attribute,
    "items": _item,
    "votes": _judgments,
    "candidates": _candidates,
}
