"""BESPOKE's tables, and the form that its evaluation scripts read from disk.

Names and columns are the published ones. Of a person's judged queries at most six, and at most
half, are shots for a judge model (`evaluation_shot`); the others test it (`meta_test`).
"""

import json

from annotation.datasets.writers import Table

FORMATS = ("parquet", "jsonl")
TIERED = False
KINDS = ("feedback",)
SHOTS = 6
RULES = {
    "evaluation_shot": f"of a person's judged queries, in a random order, half, at most {SHOTS}",
    "meta_test": "the judged queries that are no shots",
    "history": "sessions that their owner keeps and agreed to publish, personal data hidden",
}
_ROW = {"user": "text", "query-id": "integer", "id": "text"}
COLUMNS = {
    "queries/query_table": {
        "user": "text",
        "query-id": "integer",
        "query": "text",
        "gold_information_need": "text",
    },
    "chat_history/chat_history": {"user": "text", "id": "text", "history": "text"},
    "search_history/search_history": {"user": "text", "id": "text", "history": "text"},
    "gold_information/gold_information": _ROW | {"gold_information_value": "text"},
    "personalized_rubric/personalized_rubric": _ROW | {"personalized_rubric_value": "text"},
    "meta_test/meta_test_set": _ROW | {"meta_test_set_value": "text"},
    "evaluation_shot/evaluation_shot": _ROW | {"evaluation_shot_value": "text"},
}
UNPACKED = "unpacked"


def tables(format: str) -> dict[str, Table]:
    """The published tables in ``format``, and the unpacked files."""
    made = {path: Table(f"{path}.{format}", format, keys) for path, keys in COLUMNS.items()}
    return made | {UNPACKED: Table("", "files")}


def _owner(owner):
    """All rows of one person."""
    for session in owner.sessions:
        kind = "chat_history" if session.kind == "chat" else "search_history"
        row = {"user": owner.user, "id": session.id, "history": session.text}
        yield f"{kind}/{kind}", row
    for query in owner.queries:
        yield (
            "queries/query_table",
            {
                "user": owner.user,
                "query-id": query.number,
                "query": query.text,
                "gold_information_need": query.need,
            },
        )
        yield from _of_query(owner, query)


def _of_query(owner, query):
    if query.information:
        value = _json({"gold_information": list(query.information)})
        yield from _both(owner, query, "gold_information", "gold_information", value, "json")
    if query.rubric:
        yield from _both(
            owner, query, "personalized_rubric", "personalized_rubric", query.rubric, "txt"
        )
    if query.responses:
        folder, name = ("evaluation_shot",) * 2 if query.shot else ("meta_test", "meta_test_set")
        yield from _both(owner, query, folder, name, _json(judgment(query)), "json")


def judgment(query) -> dict:
    """What a person said of the responses to one query, as published."""
    return {
        "query": query.text,
        "gold_information_need": query.need,
        "response_list": [
            {"contents": response.text}
            | {
                criterion.lower().replace(" ", "_"): {"score": score, "feedback": feedback}
                for criterion, score, feedback in response.scores
            }
            for response in query.responses
        ],
    }


def _both(owner, query, folder: str, name: str, value: str, ending: str):
    row = {"user": owner.user, "query-id": query.number, "id": query.ids[name]}
    yield f"{folder}/{name}", row | {f"{name}_value": value}
    path = f"{folder}/{owner.user}/query-id_{query.number}.{ending}"
    yield UNPACKED, {"path": path, "text": value}


def _json(value) -> str:
    return json.dumps(value, ensure_ascii=False)


ROWS = {"owners": _owner}
