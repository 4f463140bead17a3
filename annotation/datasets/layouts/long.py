"""Everything in long form: one row a judgment, a thing that it says, an item, a candidate, …"""

from collections.abc import Mapping

from annotation.datasets.layouts.soft import Posterior, soft_rows, soft_tables
from annotation.datasets.records import MESSAGES, Attribute, Item, Pair, Persona, Verdict
from annotation.datasets.writers import VOTES, Table, TableRows, json_text, tables_of

FORMATS = ("jsonl", "csv", "parquet")
# Version 1 had what was said as JSON in a column of the judgments.
VERSION = 2
# Raw votes claim no tier; a release of them shows why the tiers are not in their bands.
TIERED = False
ROWS_ARE = "items"
MAIN = ("items", "judgments")

JUDGMENTS = {
    "judgment": "text",
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
    # How many rows of ``answers`` it has.
    "answers": "integer",
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
# What judgments say, in their order: of several classes and of passages a row each.
ANSWERS = {
    "judgment": "text",
    "question": "text",
    # The id of the candidate, or the number of the claim, that the question is asked about.
    "option": "text",
    "part": "integer or none",
    # A class in its own word, or what was chosen: a candidate, a tie or none.
    "label": "text",
    # A score, a number, a place in an order or on a scale, how much better.
    "value": "number",
    "text": "text",
    # Common words that were ticked beside a score.
    "chips": "texts",
    # Of a passage, in characters of the candidate's text.
    "start": "integer or none",
    "end": "integer or none",
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
    "asked_on": "text",
    "language": "text",
    "user_id": "text",
    "persona_version": "integer or none",
    "attribute_id": "text",
    "attribute": "text",
    "gold": "text",
    "claims": [{"number": "integer", "text": "text"}],
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
    "since": "text",
    "until": "text",
    "turn": "integer or none",
}
PERSONAS = {"user_id": "text", "persona_version": "integer", "profile": "json"}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """Judgments and their ``answers``, items, candidates, personas, attributes; and votes.csv."""
    columns: dict[str, Mapping[str, str | list]] = {
        "judgments": JUDGMENTS,
        "answers": ANSWERS,
        "items": ITEMS,
        "candidates": CANDIDATES,
        "personas": PERSONAS,
        "attributes": ATTRIBUTES,
    }
    made = tables_of(format, columns)
    return made | {"votes": VOTES, "soft_labels": soft_tables(format)["soft_labels"]}


def votes(item: Item) -> TableRows:
    """The rows of votes.csv of an item whose answers are one label; shared with other layouts."""
    for vote in item.votes if item.labels else ():
        yield "votes", {"task": item.id, "worker": vote.worker, "label": vote.label}


def _item(item: Item, verdict: Verdict, _pair: Pair | None, posterior: Posterior) -> TableRows:
    attribute, ruling = item.attribute, item.adjudicated
    about = {name: getattr(item, name, None) for name in ITEMS} | {
        "item_id": item.id,
        "attribute_id": attribute.id if attribute else "",
        "attribute": attribute.text if attribute else "",
        "candidates": [answer.id for answer in item.answers],
        "votes": verdict.counts,
        "judgments": len(item.votes),
        "winner": verdict.winner,
        "share": verdict.share,
        "tier": verdict.tier,
        "adjudicated": ruling if ruling is None or isinstance(ruling, str) else json_text(ruling),
    }
    yield "items", about
    # The judgments are the annotators' labels already.
    yield from soft_rows(item, posterior)
    for number, vote in enumerate(item.votes, start=1):
        row = {n: about[n] if n in ITEMS else getattr(vote, n, None) for n in JUDGMENTS}
        # No id of the database: judgments of an item are numbered as they were submitted.
        judgment = {"judgment": f"{item.id}/{number}"}
        yield "judgments", row | judgment | {"answers": len(vote.answers)}
        yield from (("answers", judgment | said) for said in vote.answers)
    yield from votes(item)


def _candidate(row: dict) -> TableRows:
    yield "candidates", row


def _persona(persona: Persona) -> TableRows:
    about = {"user_id": persona.user_id, "persona_version": persona.version}
    yield "personas", about | {"profile": persona.profile}


def _attribute(attribute: Attribute) -> TableRows:
    row = {name: getattr(attribute, name, None) for name in ATTRIBUTES}
    yield "attributes", row | {"attribute_id": attribute.id}


ROWS = {
    "personas": _persona,
    "attributes": _attribute,
    "items": _item,
    "candidates": _candidate,
}
