"""Preference pairs for direct preference optimisation, in files that stand alone.

Prompt and answers are lists of messages, which trainers take as they are. In `pairs` the person's
card comes before the question; `pairs_plain` has the question alone, which contradicts itself
wherever two people prefer different answers to it.
"""

from annotation.datasets.layouts.harness import harness_rows, harness_tables, harness_texts
from annotation.datasets.layouts.soft import (
    SOFT,
    Posterior,
    annotations,
    soft,
    soft_rows,
    soft_tables,
)
from annotation.datasets.records import MESSAGES, Item, Pair, Verdict, answer_messages, asked
from annotation.datasets.writers import Table, TableRows, tables_of

FORMATS = ("jsonl", "parquet")
TIERED = True
TIERS = ("easy", "medium", "hard")
ROWS_ARE = "pairs"
MAIN = ("pairs",)
COLUMNS: dict[str, str | list] = {
    "prompt": MESSAGES,
    "chosen": MESSAGES,
    "rejected": MESSAGES,
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
PLAIN = {name: of for name, of in COLUMNS.items() if name not in ("persona", "votes")}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """The pairs, with the person's card and without, and the votes they come from."""
    pairs = tables_of(format, {"pairs": COLUMNS, "pairs_plain": PLAIN})
    tiers = TIERS if rule == "tiers" else (*TIERS, rule)
    choices = harness_tables([("pairs", tier) for tier in tiers])
    return pairs | soft_tables(format) | choices


def _item(item: Item, verdict: Verdict, pair: Pair | None, posterior: Posterior) -> TableRows:
    yield from soft_rows(item, posterior)
    yield from annotations(item)
    if pair is None:
        return
    row = {
        # The preference is this person's: a model that sees the question alone cannot learn it.
        "prompt": asked(item.messages, item.profile),
        "chosen": answer_messages(pair.chosen),
        "rejected": answer_messages(pair.reject),
        "tier": pair.tier,
        "share": verdict.share,
        "n": verdict.n,
        "item_id": item.id,
        "user_id": item.user_id,
        "chosen_id": pair.chosen.id,
        "reject_id": pair.reject.id,
        "persona": item.profile,
        "votes": soft(item, posterior),
    }
    yield "pairs", row
    yield "pairs_plain", {name: row[name] for name in PLAIN} | {"prompt": asked(item.messages)}
    yield from harness_rows(item, pair, "pairs")


texts = harness_texts
ROWS = {"items": _item}
