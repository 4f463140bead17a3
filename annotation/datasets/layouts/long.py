"""Everything in long form: one row a judgment, an item, an answer, a persona, an attribute."""

from collections.abc import Callable, Mapping

from annotation.datasets.columns import Columns, json_text, mapped
from annotation.datasets.conversations import MESSAGES
from annotation.datasets.layouts.soft import soft_table, soft_tables
from annotation.datasets.records import Attribute, Chunk, Decided, Persona
from annotation.datasets.soft_labels import Posteriors
from annotation.datasets.writers import VOTES, Table, TableColumns, TableRows

FORMATS = ("jsonl", "csv", "parquet")
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
    "query_version": "integer or none",
    "persona_version": "integer or none",
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
ITEMS: dict[str, str | list] = {
    "item_id": "text",
    "task": "text",
    "task_version": "integer",
    "kind": "text",
    "query_id": "text",
    "query_version": "integer or none",
    "question": "text",
    "messages": MESSAGES,
    "need": "text",
    "type": "text",
    "scenario": "text",
    "user_id": "text",
    "persona_version": "integer or none",
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
    # The probability with which the item was drawn for votes; none where all items got votes.
    "chance": "number",
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
    "source": "text",
}
PERSONAS = {"user_id": "text", "persona_version": "integer", "profile": "json"}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """``judgments``, ``items``, ``candidates``, ``personas``, ``attributes``; and votes.csv."""
    columns: dict[str, Mapping[str, str | list]] = {
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


def votes(chunk: Chunk, wanted: Callable | None = None) -> TableColumns:
    """The rows of votes.csv for the labels of the ``wanted`` items; shared with other layouts."""
    chosen = chunk.votes_on(wanted)
    texts = chosen.spread("item_id") | chosen.votes.columns.texts
    columns = {"task": "item_id", "worker": "worker", "label": "label"}
    yield "votes", Columns({name: texts[column] for name, column in columns.items()})


def _chunk(chunk: Chunk, decided: Decided, posteriors: Posteriors) -> TableColumns:
    items = chunk.columns.texts | decided.columns(chunk)
    yield "items", Columns({name: items[name] for name in ITEMS})
    # The judgments are the annotators' labels already.
    yield from soft_table(chunk, posteriors)
    texts = chunk.votes.columns.texts
    answer = mapped(texts["answer"], lambda text: text if text[0] == '"' else json_text(text))
    judgments = chunk.spread(*(JUDGMENTS.keys() & chunk.columns.texts)) | texts | {"answer": answer}
    yield "judgments", Columns({name: judgments[name] for name in JUDGMENTS})
    yield from votes(chunk)


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
        "source": attribute.source,
    }
    yield "attributes", row


ROWS = {
    "personas": _persona,
    "attributes": _attribute,
    "chunks": _chunk,
    "candidates": _candidates,
}
