"""Foreign releases that are not whole: what is faulty is listed with its row, the rest comes in."""

import json

import pytest

from annotation.core.errors import DomainError
from annotation.datasets.release_import import import_release
from annotation.studies.models import Study

ITEM = {
    "task": "best", "kind": "selection", "query_id": "q1", "question": "Which tea?",
    "user_id": "1", "candidates": ["c1", "c2"], "labels": ["c1", "c2"], "overlap": 3,
}  # fmt: skip
ANSWER = {"query_id": "q1", "text": "Green."}
VOTE = {"item_id": "i1", "kind": "selection", "worker": "w1", "answer": "c1"}
LONG = {
    "items": [ITEM | {"item_id": "i1"}, ITEM | {"item_id": "i2"}],
    "candidates": [
        ANSWER | {"candidate_id": "c1"}, ANSWER | {"candidate_id": "c2", "text": "Red."}
    ],
    "personas": [{"user_id": "1", "profile": {"Name": "Mina"}}],
    "judgments": [VOTE, VOTE | {"worker": "w2", "answer": "c2"}],
}  # fmt: skip
BENCH = {
    "attributes": [{"attribute_id": "a1", "user": "u1", "text": "Grows ferns."}],
    "relevance": [{"attribute_id": "a1", "user": "u1", "attribute": "Grows ferns.",
                   "prompt_id": "p1", "prompt": "What to buy?"}],
    "responses": [{"unit_id": "r1", "user": "u1", "prompt": "What to plant?", "generic": "Grass.",
                   "personalised": "Ferns."}],
}  # fmt: skip
ASKS, SAYS = {"role": "user", "content": "What?"}, {"role": "assistant", "content": "C"}
RULE = {"role": "system", "content": "The user's profile:\n- Name: Mina"}
DPO = {"pairs": [{"prompt": "Which?", "chosen": "A", "rejected": "B"},
                 {"prompt": "What?", "chosen": "C", "rejected": "D"}]}  # fmt: skip


def write(folder, tables):
    folder.mkdir(exist_ok=True)
    for name, rows in tables.items():
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return folder


def brought(folder, tables):
    """Items that came in, and {(file, line): reason} of what did not."""
    report = import_release(write(folder, tables), "again")
    return report["items"], {(f["file"], f["line"]): f["reason"] for f in report["rejected"]}


def changed(tables, name, place, **values):
    rows = [row | values if n == place else row for n, row in enumerate(tables[name])]
    return tables | {name: rows}


def without(tables, name):
    return {key: rows for key, rows in tables.items() if key != name}


ITEMS, VOTES = "items.jsonl", "judgments.jsonl"
NO_TASK = "“task” is no name of letters, digits, - and _, at most 60"
NO_OVERLAP = "“overlap” must be a whole number from 1 to 1000"
CASES = [
    (LONG, 2, {}),
    # A table that lacks.
    (without(LONG, "personas"), 2, {}),
    (without(LONG, "judgments"), 2, {}),
    (without(BENCH, "responses"), 2, {}),
    (without(BENCH, "attributes"), 2, {}),
    # Wrong types: the row is left out.
    (changed(LONG, "items", 1, candidates=7), 1, {(ITEMS, 2): "“candidates” is no list of text"}),
    (changed(LONG, "items", 1, labels=[1]), 1, {(ITEMS, 2): "“labels” is no list of text"}),
    (changed(LONG, "items", 1, kind=["a"]), 1,
     {(ITEMS, 2): "items of this kind cannot be imported"}),
    (changed(LONG, "items", 1, task="a b/c"), 1, {(ITEMS, 2): NO_TASK}),
    (changed(LONG, "items", 1, task="t" * 61), 1, {(ITEMS, 2): NO_TASK}),
    (changed(LONG, "items", 1, overlap="many"), 1, {(ITEMS, 2): NO_OVERLAP}),
    (changed(LONG, "items", 1, overlap=10**30), 1, {(ITEMS, 2): NO_OVERLAP}),
    (changed(LONG, "items", 1, item_id=["i2"]), 1, {(ITEMS, 2): "there is no text “item_id”"}),
    (changed(LONG, "judgments", 1, worker=[1]), 2, {(VOTES, 2): "worker must be text"}),
    (changed(LONG, "judgments", 1, answer={"a": 1}), 2,
     {(VOTES, 2): "the answer is not one label"}),
    (changed(LONG, "judgments", 1, item_id={"a": 1}), 2,
     {(VOTES, None): "1 judgments are on items that the study does not have"}),
    (changed(BENCH, "responses", 0, points="five"), 2,
     {("responses.jsonl", 1): "“points” is not 5, as in the rest of the table"}),
    (changed(BENCH, "relevance", 0, prompt=None), 2,
     {("relevance.jsonl", 1): "there is no text “prompt”"}),
    (changed(DPO, "pairs", 1, votes=[{"label": {"a": 1}}]), 2, {}),
    (changed(DPO, "pairs", 1, chosen=None), 1, {("pairs.jsonl", 2): "there is no text “chosen”"}),
    # Messages that a question and two answers cannot hold.
    # A conversation is a question of several turns.
    (changed(DPO, "pairs", 1, prompt=[ASKS, SAYS, ASKS]), 2, {}),
    (changed(DPO, "pairs", 1, prompt=[]), 1,
     {("pairs.jsonl", 2): "“prompt” is not one message of the user"}),
    (changed(DPO, "pairs", 1, rejected=[ASKS]), 1,
     {("pairs.jsonl", 2): "“rejected” is not one message of the assistant"}),
    (changed(DPO, "pairs", 1, chosen=[SAYS | {"content": None}]), 1,
     {("pairs.jsonl", 2): "“chosen” is not one message of the assistant"}),
    (changed(DPO, "pairs", 1, chosen=["C"]), 1,
     {("pairs.jsonl", 2): "“chosen” is no list of messages"}),
    (changed(DPO, "pairs", 1, prompt=[RULE, ASKS]), 1,
     {("pairs.jsonl", 2): "the system message in “prompt” stands in no “persona”"}),
    (changed(DPO, "pairs", 1, prompt=[RULE, ASKS], user_id="1", persona={"Name": "Mina"},
             chosen=[SAYS]), 2, {}),
    # One id twice.
    (changed(LONG, "items", 1, item_id="i1"), 1,
     {(ITEMS, 2): "the item stands in items.jsonl, row 1, already"}),
    (LONG | {"personas": [*LONG["personas"], {"user_id": "1", "profile": {"Name": "Ben"}}]}, 2,
     {("personas.jsonl", 2): "“1” stands for something else in an earlier row"}),
    (changed(LONG, "judgments", 1, worker="w1"), 2,
     {(VOTES, 2): "w1 has given another vote on this item before"}),
    (BENCH | {"responses": BENCH["responses"] * 2}, 3,
     {("responses.jsonl", 2): "the item stands in responses.jsonl, row 1, already"}),
]  # fmt: skip


@pytest.mark.parametrize(("tables", "items", "left_out"), CASES)
def test_what_is_faulty_is_listed_with_its_row_and_the_rest_comes_in(
    tmp_path, db, tables, items, left_out
):
    assert brought(tmp_path, tables) == (items, left_out)


def test_a_release_without_its_answers_is_refused_by_name_and_nothing_is_stored(tmp_path, db):
    with pytest.raises(DomainError, match="the table of answers is missing"):
        brought(tmp_path, without(LONG, "candidates"))
    assert not Study.objects.exists()
