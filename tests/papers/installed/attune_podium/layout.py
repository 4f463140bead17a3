"""One table: a question, its answers, and where each person puts them."""

from annotation.datasets.layouts.soft import Posterior
from annotation.datasets.records import Item, Pair, Verdict
from annotation.datasets.writers import Table, TableRows

FORMATS = ("jsonl",)
TIERED = False
ROWS_ARE = "rankings"
MAIN = ("podiums",)
COLUMNS = {"item": "text", "question": "text", "answers": "json", "rankings": "json"}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """The only table."""
    return {"podiums": Table(f"podiums.{format}", format, COLUMNS, config="podiums")}


def _item(item: Item, verdict: Verdict, pair: Pair | None, posterior: Posterior) -> TableRows:
    places = [{row["option"]: row["value"] for row in vote.answers} for vote in item.votes]
    row = {
        "item": item.id,
        "question": item.question,
        "answers": {answer.id: answer.text for answer in item.answers},
        "rankings": [
            {"worker": vote.worker, "places": each}
            for vote, each in zip(item.votes, places, strict=True)
        ],
    }
    yield "podiums", row


ROWS = {"items": _item}
