"""The three stages of PersonalBench: attributes, their relevance, generic or personalised answer.

The published keys come first in every row, our own after them.
"""

from typing import cast

from annotation.datasets.layouts.long import votes
from annotation.datasets.layouts.soft import Posterior, annotations, soft_rows, soft_tables
from annotation.datasets.records import Attribute, Item, Pair, Verdict, Vote
from annotation.datasets.truth import orient
from annotation.datasets.writers import VOTES, Table, TableRows, tables_of
from annotation.papers.personalbench import mention

FORMATS = ("jsonl", "parquet")
TIERED = False
ROWS_ARE = "verdicts, votes or ratings"
MAIN = ("attributes", "relevance", "responses")
RULES = {
    "attributes": "problematic: more than half of the verdicts are uncertain or rejected; "
    "accepted: more than half are accepted; otherwise null",
    "relevance": "more than half of the votes; otherwise null",
    "responses": "the highest rating: the personalised answer is much better; generic is the "
    "answer whose strategy is A3 or generic",
    "explicit_mention": f"at least {mention.THRESHOLD:.0%} of the attribute's content words that "
    "the prompt has not are in the personalised answer",
}


_COMMON = {
    "item_id": "text",
    "task": "text",
    "task_version": "integer",
    "adjudicated": "text",
}
_VERDICT = {"worker": "text", "verdict": "text", "reason": "text", "cause": "text"}
COLUMNS: dict[str, dict[str, str | list]] = {
    "attributes": {
        "attribute_id": "text",
        "user": "text",
        "text": "text",
        "confidence": "number",
        "verdicts": [_VERDICT],
        "label": "text",
        "counts": [{"verdict": "text", "n": "integer"}],
        **_COMMON,
        "model": "text",
        "since": "text",
        "until": "text",
        "turn": "integer or none",
    },
    "relevance": {
        "attribute_id": "text",
        "prompt_id": "text",
        "prompt": "text",
        "votes": [{"worker": "text", "vote": "text", "reason": "text"}],
        "label": "text",
        "attribute": "text",
        "user": "text",
        "scenario": "text",
        **_COMMON,
        "asked_on": "text",
    },
    "responses": {
        "unit_id": "text",
        "generic": "text",
        "personalised": "text",
        "ratings": [{"worker": "text", "rating": "integer", "reason": "text"}],
        "mean": "number",
        "points": "integer",
        "attribute_id": "text",
        "attribute": "text",
        "prompt_id": "text",
        "prompt": "text",
        "user": "text",
        "scenario": "text",
        "explicit_mention": "boolean",
        "mention_share": "number",
        "generic_id": "text",
        "personalised_id": "text",
        "personalised_strategy": "text",
        **_COMMON,
        "asked_on": "text",
    },
}


CONVERSATIONS: dict[str, str | list] = {
    "attribute_id": "text",
    "user": "text",
    "number": "integer",
    # Who wrote the person's side: human or synthetic.
    "source": "text",
    "messages": "json",
}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """The three stages, the conversations of attributes, and the votes they come from."""
    made = tables_of(format, COLUMNS | {"conversations": CONVERSATIONS})
    return made | {"votes": VOTES} | soft_tables(format)


def _item(item: Item, verdict: Verdict, pair: Pair | None, posterior: Posterior) -> TableRows:
    if item.kind in _ROWS and (made := _ROWS[item.kind](item, verdict)):
        yield made
        yield from votes(item)
        yield from soft_rows(item, posterior)
        yield from annotations(item)


def _attribute(item: Item, verdict: Verdict) -> tuple[str, dict]:
    attribute = cast(Attribute, item.attribute)
    counts = dict(zip(item.labels, verdict.counts, strict=True))
    problematic = counts["uncertain"] + counts["rejected"]
    return "attributes", {
        "attribute_id": attribute.id,
        "user": attribute.user_id,
        "text": attribute.text,
        "confidence": attribute.confidence,
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
        "counts": [{"verdict": name, "n": n} for name, n in counts.items()],
        **_common(item),
        "model": attribute.model,
        "since": attribute.since,
        "until": attribute.until,
        "turn": attribute.turn,
    }


def _conversations(attribute: Attribute) -> TableRows:
    """Every conversation that an attribute rests on, as judges see it."""
    rows = zip(attribute.conversations, attribute.sources, strict=True)
    for number, (messages, source) in enumerate(rows, start=1):
        yield (
            "conversations",
            {
                "attribute_id": attribute.id,
                "user": attribute.user_id,
                "number": number,
                "source": source,
                "messages": messages,
            },
        )


def _relevance(item: Item, verdict: Verdict) -> tuple[str, dict]:
    attribute = cast(Attribute, item.attribute)
    return "relevance", {
        "attribute_id": attribute.id,
        "prompt_id": item.query_id,
        "prompt": item.question,
        "votes": [
            {"worker": vote.worker, "vote": vote.label, "reason": vote.reason}
            for vote in item.votes
        ],
        "label": verdict.winner,
        "attribute": attribute.text,
        "user": item.user_id,
        "scenario": item.scenario,
        **_common(item),
        "asked_on": item.asked_on,
    }


def _response(item: Item, verdict: Verdict) -> tuple[str, dict] | None:
    answers = orient(item)
    if answers is None:
        return None
    generic, personalised, generic_first = answers
    points = len(item.labels)
    ratings = [_rating(vote, points, generic_first) for vote in item.votes]
    values = [rating["rating"] for rating in ratings]
    about = item.attribute
    share = mention.mentioned(about.text, personalised.text, item.question) if about else None
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
        "scenario": item.scenario,
        "explicit_mention": mention.explicit(share),
        "mention_share": share,
        "generic_id": generic.id,
        "personalised_id": personalised.id,
        "personalised_strategy": personalised.strategy,
        **_common(item),
        "asked_on": item.asked_on,
    }


def _rating(vote: Vote, points: int, generic_first: bool) -> dict:
    value = int(cast(str, vote.label))
    rating = value if generic_first else points + 1 - value
    return {"worker": vote.worker, "rating": rating, "reason": vote.reason}


def _common(item: Item) -> dict:
    return {
        "item_id": item.id,
        "task": item.task,
        "task_version": item.task_version,
        "adjudicated": None if item.adjudicated is None else str(item.adjudicated),
    }


def _most(counts: dict) -> str | None:
    """The value of more than half of the votes, or None."""
    best = max(counts, key=lambda value: counts[value])
    return best if 2 * counts[best] > sum(counts.values()) else None


_ROWS = {"attribute": _attribute, "relevance": _relevance, "preference": _response}
ROWS = {"attributes": _conversations, "items": _item}
