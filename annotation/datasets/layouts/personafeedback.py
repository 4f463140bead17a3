"""The folders and keys of the published PersonaFeedback benchmark, our own keys after them."""

from annotation.datasets.layouts.long import votes
from annotation.datasets.writers import VOTES, Table

FORMATS = ("jsonl",)
TIERED = True
PERSONAS = "persona/all_personas.jsonl"


def tables(format: str) -> dict[str, Table]:
    """One file a type of question and tier, empty or not; all personas; all votes."""
    paths = [PERSONAS, *(_path(t, tier) for t in TYPES for tier in TIERS)]
    return {path: Table(path, "jsonl") for path in paths} | {"votes": VOTES}


TYPES = ("specific", "general")
TIERS = ("easy", "medium", "hard")


def _path(type_: str, tier: str) -> str:
    return f"data/{type_}/{tier}.jsonl"


def _persona(persona):
    # A line's number is the user_id: personas come in the order of their numbers.
    yield PERSONAS, persona.profile


def _item(item, verdict, pair):
    if item.kind == "selection":
        yield from votes(item)
    if pair is None:
        return
    row = {
        "user_id": item.user_id,
        "question": item.question,
        "chosen": pair.chosen.text,
        "reject": pair.reject.text,
        "item_id": item.id,
        "query_id": item.query_id,
        "tier": pair.tier,
        "votes": dict(zip(item.labels, verdict.counts, strict=True)),
        "n": verdict.n,
        "share": verdict.share,
        "chosen_id": pair.chosen.id,
        "reject_id": pair.reject.id,
        "chosen_strategy": pair.chosen.strategy,
        "reject_strategy": pair.reject.strategy,
        "chosen_model": pair.chosen.model,
        "reject_model": pair.reject.model,
        "scenario": item.scenario,
        "persona_version": item.persona_version,
    }
    yield _path(item.type, pair.tier), row


ROWS = {"personas": _persona, "items": _item}
