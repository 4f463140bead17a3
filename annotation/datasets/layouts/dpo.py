"""Preference pairs for direct preference optimisation, one file that stands alone."""

from annotation.datasets.writers import Table

FORMATS = ("jsonl",)
TIERED = True


def tables(format: str) -> dict[str, Table]:
    """pairs.jsonl."""
    return {"pairs": Table("pairs.jsonl", "jsonl")}


def _item(item, verdict, pair):
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
        # The preference is this person's: a model that sees the question alone cannot learn it.
        "persona": item.profile,
    }
    yield "pairs", row


ROWS = {"items": _item}
