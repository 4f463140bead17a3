"""Votes between two answers under the columns in which LMArena publishes its battles.

One row a vote: ``model_a`` is what the voter saw first. Conversations are whole, from the first
message on, so that those of a live comparison and single answers are read alike. Pure.
"""

from annotation.datasets.records import MESSAGES, Item, answer_messages
from annotation.datasets.writers import Table, TableRows, tables_of

FORMATS = ("jsonl", "parquet")
# Raw votes claim no tier.
TIERED = False
ROWS_ARE = "votes between two answers"
MAIN = ("battles",)
BATTLES: dict[str, str | list] = {
    "question_id": "text",
    "model_a": "text",
    "model_b": "text",
    # model_a, model_b, tie, tie (bothbad)
    "winner": "text",
    "judge": "text",
    "conversation_a": MESSAGES,
    "conversation_b": MESSAGES,
    "turn": "integer",
    "tstamp": "text",
    # Further than LMArena: whose query it is, the task, and of a draw by a rule how likely it was.
    "user_id": "text",
    "task": "text",
    "chance": "number",
}
TIES = {"tie": "tie", "none": "tie (bothbad)"}


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    return tables_of(format, {"battles": BATTLES})


def _item(item: Item, *_verdict: object) -> TableRows:
    answers = {answer.id: answer for answer in item.answers}
    for vote in item.votes:
        if len(answers) != 2 or set(vote.shown) != set(answers):
            continue
        sides = [answers[id] for id in vote.shown]
        winners = dict(zip(vote.shown, ("model_a", "model_b"), strict=True)) | TIES
        if vote.label not in winners:
            continue
        first, second = ([*item.messages, *answer_messages(answer)] for answer in sides)
        row = {
            "question_id": item.id,
            "model_a": sides[0].strategy or sides[0].model,
            "model_b": sides[1].strategy or sides[1].model,
            "winner": winners[vote.label],
            "judge": vote.worker,
            "conversation_a": first,
            "conversation_b": second,
            "turn": sum(message["role"] == "user" for message in first),
            "tstamp": vote.submitted_at,
            "user_id": item.user_id,
            "task": item.task,
            "chance": sides[0].chance,
        }
        yield "battles", row


ROWS = {"items": _item}
