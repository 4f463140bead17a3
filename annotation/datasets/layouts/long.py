"""Everything in long form: one row a judgment, one an item, one an answer, one a persona."""

from annotation.datasets.writers import VOTES, Table

FORMATS = ("jsonl", "csv", "parquet")
# Raw votes claim no tier; a release of them shows why the tiers are not in their bands.
TIERED = False

JUDGMENTS = {
    "item_id": "text",
    "query_id": "text",
    "user_id": "text",
    "worker": "text",
    "kind": "text",
    "task": "text",
    "task_version": "integer",
    "query_version": "integer",
    "persona_version": "integer",
    "answer": "text",
    "shown": "texts",
    "reason": "text",
    "flags": "texts",
    "seconds": "number",
    "submitted_at": "text",
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
    "candidates": "texts",
    "labels": "texts",
    "votes": "integers",
    "judgments": "integer",
    "overlap": "integer",
    "winner": "text",
    "share": "number",
    "tier": "text",
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
PERSONAS = {"user_id": "text", "persona_version": "integer", "profile": "json"}


def tables(format: str) -> dict[str, Table]:
    """``judgments``, ``items``, ``candidates`` and ``personas`` in ``format``, and votes.csv."""
    columns = {
        "judgments": JUDGMENTS,
        "items": ITEMS,
        "candidates": CANDIDATES,
        "personas": PERSONAS,
    }
    made = {name: Table(f"{name}.{format}", format, keys) for name, keys in columns.items()}
    return made | {"votes": VOTES}


def votes(item):
    """The item's rows of votes.csv; shared with the layouts that have that file too."""
    for vote in item.votes:
        yield "votes", {"task": item.id, "worker": vote.worker, "label": vote.label}


def _item(item, verdict, pair):
    yield "items", _item_row(item, verdict)
    for vote in item.votes:
        yield "judgments", _judgment_row(item, vote)
    yield from votes(item)


def _item_row(item, verdict) -> dict:
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
        "candidates": [answer.id for answer in item.answers],
        "labels": list(item.labels),
        "votes": list(verdict.counts),
        "judgments": len(item.votes),
        "overlap": item.overlap,
        "winner": verdict.winner,
        "share": verdict.share,
        "tier": verdict.tier,
    }


def _judgment_row(item, vote) -> dict:
    return {
        "item_id": item.id,
        "query_id": item.query_id,
        "user_id": item.user_id,
        "worker": vote.worker,
        "kind": item.kind,
        "task": item.task,
        "task_version": item.task_version,
        "query_version": item.query_version,
        "persona_version": item.persona_version,
        "answer": vote.label,
        "shown": vote.shown,
        "reason": vote.reason,
        "flags": vote.flags,
        "seconds": vote.seconds,
        "submitted_at": vote.submitted_at,
        "imported": vote.imported,
    }


def _candidate(candidate):
    row = {
        "candidate_id": candidate.id,
        "query_id": candidate.query_id,
        "query_version": candidate.query_version,
        "text": candidate.text,
        "strategy": candidate.strategy,
        "model": candidate.model,
        "urls": candidate.urls,
        "template": candidate.template,
        "prompt_digest": candidate.prompt_digest,
        "parameters": candidate.parameters,
    }
    yield "candidates", row


def _persona(persona):
    row = {
        "user_id": persona.user_id,
        "persona_version": persona.version,
        "profile": persona.profile,
    }
    yield "personas", row


ROWS = {"personas": _persona, "items": _item, "candidates": _candidate}
