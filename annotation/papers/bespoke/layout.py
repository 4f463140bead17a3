"""BESPOKE's tables, and the files that its evaluator reads from disk.

Names and columns are the published ones. The evaluator, asked for a person's query, opens the shots
and the rubric of that same query: of each query's judged responses some are shots
(`evaluation_shot`) and the others test a judge model (`meta_test`).
"""

import json
from collections.abc import Iterable

from annotation.datasets.records import Owner, OwnQuery, Response
from annotation.datasets.writers import Table, TableRows

FORMATS = ("parquet", "jsonl")
TIERED = False
ROWS_ARE = "scored responses"
MAIN = ("evaluation_shot/", "meta_test/")
RULES = {
    "evaluation_shot": "judged responses to the same query, drawn at random; the rubric is written "
    "from these alone",
    "meta_test": "the other judged responses to the query; none where all of them are shots",
    "history": "sessions that their owner keeps and agreed to publish, personal data hidden",
}
_ROW = {"user": "text", "query-id": "text", "id": "text"}
COLUMNS = {
    "queries/query_table": {
        "user": "text",
        "query-id": "text",
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


def tables(format: str, rule: str = "tiers") -> dict[str, Table]:
    """The published tables in ``format``, and the unpacked files."""
    made = {
        path: Table(f"{path}.{format}", format, keys, config=path.partition("/")[0])
        for path, keys in COLUMNS.items()
    }
    return made | {UNPACKED: Table("", "files")}


def remarks(owner: Owner) -> TableRows:
    """(remark, query) for each query that the evaluator can use in part only."""
    for query in owner.queries:
        name = {"user": owner.user, "query-id": query.id}
        judged = len(query.responses)
        if judged and not _tests(query):
            yield "too_few_responses", name | {"responses": judged}
        if query.unsure:
            yield "rubric_left_out", name
        if _tests(query) and not query.rubric:
            yield "without_rubric", name
        if _tests(query) and not query.information:
            yield "without_gold_information", name


def _owner(owner: Owner) -> TableRows:
    for session in owner.sessions:
        kind = "chat_history" if session.kind == "chat" else "search_history"
        row = {"user": owner.user, "id": session.id, "history": session.text}
        yield f"{kind}/{kind}", row
    for query in owner.queries:
        yield (
            "queries/query_table",
            {
                "user": owner.user,
                "query-id": query.id,
                "query": query.text,
                "gold_information_need": query.need,
            },
        )
        yield from _of_query(owner, query)


def _of_query(owner: Owner, query: OwnQuery) -> TableRows:
    # The evaluator opens a rubric and the claims of every query that it tests: empty files stand
    # for none, the tables hold what there is.
    tests, shots = _tests(query), [response for response in query.responses if response.shot]
    if query.information or tests:
        value = _json({"gold_information": list(query.information)})
        yield _file(owner, query, "gold_information", value, "json")
        if query.information:
            yield _row(owner, query, "gold_information", "gold_information", value)
    if query.rubric or tests:
        yield _file(owner, query, "personalized_rubric", query.rubric, "txt")
        if query.rubric:
            yield _row(owner, query, "personalized_rubric", "personalized_rubric", query.rubric)
    for folder, name, responses in (
        ("evaluation_shot", "evaluation_shot", shots),
        ("meta_test", "meta_test_set", tests),
    ):
        if responses:
            value = _json(judgment(query, responses))
            yield _file(owner, query, folder, value, "json")
            yield _row(owner, query, folder, name, value)


def _tests(query: OwnQuery) -> list:
    return [response for response in query.responses if not response.shot]


def judgment(query: OwnQuery, responses: Iterable[Response]) -> dict:
    """A person's judgments of ``responses`` to one query, as published."""
    return {
        "query": query.text,
        "gold_information_need": query.need,
        "response_list": [
            {"contents": response.text}
            | {
                criterion.lower().replace(" ", "_"): {"score": score, "feedback": feedback}
                for criterion, score, feedback in response.scores
            }
            for response in responses
        ],
    }


def _row(owner: Owner, query: OwnQuery, folder: str, name: str, value: str) -> tuple[str, dict]:
    row = {"user": owner.user, "query-id": query.id, "id": query.ids[name]}
    return f"{folder}/{name}", row | {f"{name}_value": value}


def _file(owner: Owner, query: OwnQuery, folder: str, text: str, ending: str) -> tuple[str, dict]:
    path = f"{UNPACKED}/{folder}/{owner.user}/query-id_{query.id}.{ending}"
    return UNPACKED, {"path": path, "text": text}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


ROWS = {"owners": _owner}
