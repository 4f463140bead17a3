"""Preference pairs for direct preference optimisation, one file that stands alone."""

from annotation.datasets.layouts.harness import harness_rows, harness_tables, harness_texts
from annotation.datasets.layouts.soft import annotations, soft_rows, soft_tables
from annotation.datasets.records import Item, Pair, Verdict
from annotation.datasets.soft_labels import SOFT, Posterior, soft
from annotation.datasets.writers import Table, TableRows

FORMATS = ("jsonl", "parquet")
TIERED = True
TIERS = ("easy", "medium", "hard")
ROWS_ARE = "pairs"
COLUMNS: dict[str, str | list] = {
    "prompt": "text",
    "chosen": "text",
    "rejected": "text",
    "tier": "text",
    "share": "number",
    "n": "integer",
    "item_id": "text",
    "user_id": "text",
    "chosen_id": "text",
    "reject_id": "text",
    "persona": "json",
    "votes": SOFT,
}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """The pairs, and the votes they come from."""
    pairs = Table(f"pairs.{format}", format, COLUMNS, config="pairs")
    tiers = TIERS if rule == "tiers" else (*TIERS, rule)
    choices = harness_tables([("pairs", tier) for tier in tiers])
    return {"pairs": pairs} | soft_tables(format) | choices


def is_main(name: str) -> bool:
    """Whether the table ``name`` holds what the release is for."""
    return name == "pairs"


def _item(item: Item, verdict: Verdict, pair: Pair | None, posterior: Posterior) -> TableRows:
    yield from soft_rows(item, posterior)
    if pair is None:
        return
    row = {
        "prompt": item.question,
        "chosen": pair.chosen.text,
        "rejected": pair.reject.text,
        "tier": pair.tier,
        "share": verdict.share,
        "n": verdict.n,
        "item_id": item.id,
        "user_id": item.user_id,
        "chosen_id": pair.chosen.id,
        "reject_id": pair.reject.id,
        # The preference is this person's: a model that sees the question alone cannot learn it.
        "persona": item.profile,
        "votes": soft(item, posterior),
    }
    yield "pairs", row
    yield from harness_rows(item, pair, "pairs")


texts = harness_texts
ROWS = {"items": _item, "votes": annotations}
