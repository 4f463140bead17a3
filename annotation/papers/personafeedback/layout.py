"""The folders and keys of the published PersonaFeedback benchmark, our own keys after them."""

from annotation.datasets.layouts.harness import harness_rows, harness_tables, harness_texts
from annotation.datasets.layouts.long import votes
from annotation.datasets.layouts.soft import (
    SOFT,
    Posterior,
    annotations,
    soft,
    soft_rows,
    soft_tables,
)
from annotation.datasets.records import Item, Pair, Persona, Verdict
from annotation.datasets.writers import VOTES, Table, TableRows

FORMATS = ("jsonl",)
TIERED = True
PERSONAS = "persona/all_personas.jsonl"
MEMORIES = "persona/memories.jsonl"
TYPES = ("specific", "general")
TIERS = ("easy", "medium", "hard")
ROWS_ARE = "pairs"
MAIN = ("data/",)
COLUMNS: dict[str, str | list] = {
    "user_id": "text",
    "question": "text",
    "chosen": "text",
    "reject": "text",
    "item_id": "text",
    "query_id": "text",
    "tier": "text",
    "votes": SOFT,
    "n": "integer",
    "share": "number",
    "chosen_id": "text",
    "reject_id": "text",
    "chosen_strategy": "text",
    "reject_strategy": "text",
    "chosen_model": "text",
    "reject_model": "text",
    "scenario": "text",
    "persona_version": "integer",
    "asked_on": "text",
}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """One file a type of question and tier, empty or not; all personas, memories and votes.

    By another rule than tiers each type has a file for its pairs, too.
    """
    memory = {"user_id": "text", "text": "text", "since": "text", "until": "text"}
    made = {
        # The number of a persona's line is its id.
        PERSONAS: Table(PERSONAS, "jsonl", config="personas", whole=True),
        MEMORIES: Table(MEMORIES, "jsonl", memory, config="memories", whole=True),
    }
    for type_ in TYPES:
        for tier in (*TIERS, *([] if rule == "tiers" else [rule])):
            path = _path(type_, tier)
            made[path] = Table(path, "jsonl", COLUMNS, config=type_, split=tier)
    groups = [(table.config, table.split) for table in made.values() if table.columns == COLUMNS]
    return made | {"votes": VOTES} | soft_tables("jsonl") | harness_tables(groups)


def _path(type_: str, tier: str) -> str:
    return f"data/{type_}/{tier}.jsonl"


def _persona(persona: Persona) -> TableRows:
    # A line's number is the user_id: personas come in the order of their numbers.
    yield PERSONAS, persona.profile
    for memory in persona.memories:
        yield MEMORIES, {"user_id": persona.user_id} | memory


def _item(item: Item, verdict: Verdict, pair: Pair | None, posterior: Posterior) -> TableRows:
    if item.kind == "selection":
        yield from votes(item)
        yield from soft_rows(item, posterior)
        yield from annotations(item)
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
        "votes": soft(item, posterior),
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
        "asked_on": item.asked_on,
    }
    yield _path(item.type, pair.tier), row
    yield from harness_rows(item, pair, item.type)


texts = harness_texts
ROWS = {"personas": _persona, "items": _item}
