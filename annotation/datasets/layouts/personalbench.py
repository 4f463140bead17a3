"""The three stages of PersonalBench: attributes, their relevance, generic or personalised answer.

The published keys come first in every row, our own after them.
"""

from annotation.datasets import mention
from annotation.datasets.layouts.long import votes
from annotation.datasets.truth import orient
from annotation.datasets.writers import VOTES, Table

FORMATS = ("jsonl",)
TIERED = False
KINDS = ("attribute", "relevance", "preference")
RULES = {
    "attributes": "problematic: more than half of the verdicts are uncertain or rejected; "
    "accepted: more than half are accepted; otherwise null",
    "relevance": "more than half of the votes; otherwise null",
    "responses": "the highest rating: the personalised answer is much better; generic is the "
    "answer whose strategy is A3 or generic",
    "explicit_mention": f"at least {mention.THRESHOLD:.0%} of the attribute's content words that "
    "the prompt has not are in the personalised answer",
}


def tables(format: str) -> dict[str, Table]:
    """attributes.jsonl, relevance.jsonl, responses.jsonl and votes.csv."""
    names = ("attributes", "relevance", "responses")
    return {name: Table(f"{name}.jsonl", "jsonl") for name in names} | {"votes": VOTES}


def _item(item, verdict, pair):
    if item.kind in _ROWS and (made := _ROWS[item.kind](item, verdict)):
        yield made
        yield from votes(item)


def _attribute(item, verdict):
    counts = dict(zip(item.labels, verdict.counts, strict=True))
    problematic = counts["uncertain"] + counts["rejected"]
    return "attributes", {
        "attribute_id": item.attribute.id,
        "user": item.attribute.user_id,
        "text": item.attribute.text,
        "confidence": item.attribute.confidence,
        "verdicts": [
            {
                "worker": vote.worker,
                "verdict": vote.label,
                "reason": vote.reason,
                "cause": vote.detail,
            }
            for vote in item.votes
        ],
        "label": _most({"accepted": counts["accepted"], "problematic": problematic}),
        "counts": counts,
        **_common(item),
        "model": item.attribute.model,
    }


def _relevance(item, verdict):
    return "relevance", {
        "attribute_id": item.attribute.id,
        "prompt_id": item.query_id,
        "prompt": item.question,
        "votes": [
            {"worker": vote.worker, "vote": vote.label, "reason": vote.reason}
            for vote in item.votes
        ],
        "label": verdict.winner,
        "attribute": item.attribute.text,
        "user": item.user_id,
        **_common(item),
    }


def _response(item, verdict):
    found = orient(item)
    if found is None:
        return None
    generic, personalised, generic_first = found
    points = len(item.labels)
    ratings = [_rating(vote, points, generic_first) for vote in item.votes]
    values = [one["rating"] for one in ratings]
    about = item.attribute
    share = about and mention.mentioned(about.text, personalised.text, item.question)
    return "responses", {
        "unit_id": item.id,
        "generic": generic.text,
        "personalised": personalised.text,
        "ratings": ratings,
        "mean": sum(values) / len(values) if values else None,
        "points": points,
        "attribute_id": about and about.id,
        "attribute": about and about.text,
        "prompt_id": item.query_id,
        "prompt": item.question,
        "user": item.user_id,
        "explicit_mention": mention.explicit(share),
        "mention_share": share,
        "generic_id": generic.id,
        "personalised_id": personalised.id,
        "personalised_strategy": personalised.strategy,
        **_common(item),
    }


def _rating(vote, points: int, generic_first: bool) -> dict:
    value = int(vote.label)
    rating = value if generic_first else points + 1 - value
    return {"worker": vote.worker, "rating": rating, "reason": vote.reason}


def _common(item) -> dict:
    return {
        "item_id": item.id,
        "task": item.task,
        "task_version": item.task_version,
        "adjudicated": item.adjudicated,
    }


def _most(counts: dict) -> str | None:
    """What more than half say, or None."""
    best = max(counts, key=counts.get)
    return best if 2 * counts[best] > sum(counts.values()) else None


_ROWS = {"attribute": _attribute, "relevance": _relevance, "preference": _response}
ROWS = {"items": _item}
