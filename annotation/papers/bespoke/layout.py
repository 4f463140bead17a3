"""BESPOKE's tables, and the files that its evaluator reads from disk.

Names and columns are the published ones. The evaluator, asked for a person's query, opens the shots
and the rubric of that same query: of each query's judged responses some are shots
(`evaluation_shot`) and the others test a judge model (`meta_test`).
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotation.core.errors import DomainError
from annotation.datasets import release_files
from annotation.datasets.records import Owner, OwnQuery, Response
from annotation.datasets.release_files import Faults, json_of, text_of
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
    "queries/query_table": dict.fromkeys(
        ("user", "query-id", "query", "gold_information_need"), "text"
    ),
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
        row = {"user": owner.user, "query-id": query.id, "query": query.text}
        yield "queries/query_table", row | {"gold_information_need": query.need}
        yield from _of_query(owner, query)


def _of_query(owner: Owner, query: OwnQuery) -> TableRows:
    # The evaluator opens a rubric and the claims of every query that it tests: empty files stand
    # for none, the tables hold what there is.
    tests, shots = _tests(query), [response for response in query.responses if response.shot]
    if query.information or tests:
        value = json.dumps({"gold_information": list(query.information)}, ensure_ascii=False)
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
            value = json.dumps(judgment(query, responses), ensure_ascii=False)
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


ROWS = {"owners": _owner}


# --- Read, as published or ours -------------------------------------------------------------------

# Names are the method's; "explanation_style" is the key of "Explanation Style".
CRITERIA = ("Need Alignment", "Content Depth", "Tone", "Explanation Style")
QUERIES = "queries/query_table"
SHOTS, TESTS = "evaluation_shot/evaluation_shot", "meta_test/meta_test_set"
JUDGED = {SHOTS: "evaluation_shot_value", TESTS: "meta_test_set_value"}
HISTORIES = {"chat_history/chat_history": "chat", "search_history/search_history": "search"}
CLAIMS = "gold_information/gold_information"
RUBRICS = "personalized_rubric/personalized_rubric"
LOWEST, HIGHEST = 1, 5


@dataclass
class BespokeRelease:
    """What the tables hold, by (user, query-id); ``faults`` lists what was left out.

    ``queries`` are (text, need), ``responses`` lists of (text, [(criterion, score, feedback)],
    whether it is a shot), shots first, ``claims`` lists of text, ``sessions`` (user, kind, id,
    text). ``repeated`` counts responses that an earlier row of the query has, too.
    """

    queries: dict[tuple, tuple] = field(default_factory=dict)
    responses: dict[tuple, list] = field(default_factory=dict)
    claims: dict[tuple, list] = field(default_factory=dict)
    rubrics: dict[tuple, str] = field(default_factory=dict)
    sessions: list[tuple] = field(default_factory=list)
    repeated: int = 0
    faults: Faults = field(default_factory=Faults)

    @property
    def users(self) -> list[str]:
        return sorted({key[0] for key in self.queries} | {entry[0] for entry in self.sessions})


def read_release(folder: Path) -> BespokeRelease:
    """Read the tables in ``folder``; DomainError where there is no query to import."""
    release = BespokeRelease()
    if not release_files.parts(folder, QUERIES):
        raise DomainError(f"{folder / QUERIES}.parquet is missing.")
    _each(folder, QUERIES, release, _query)
    for name, column in JUDGED.items():
        _each(folder, name, release, _judged, column)
    _each(folder, CLAIMS, release, _claims)
    _each(folder, RUBRICS, release, _rubric)
    for name, kind in HISTORIES.items():
        _each(folder, name, release, _session, kind)
    if not release.queries:
        first = next((fault for fault in release.faults if QUERIES in fault["file"]), None)
        reason = f"row {first['line']}: {first['reason']}" if first else "the table is empty"
        raise DomainError(f"{folder / QUERIES}: there is no query to import ({reason}).")
    return release


def leaks(folder: Path) -> Iterator[tuple[str, str]]:
    """(file, what is wrong) of each row of tests that has the text of one of its query's shots."""
    shots: dict[tuple, set[str]] = defaultdict(set)
    for _file, _number, key, texts in _judged_texts(folder, SHOTS):
        shots[key] |= texts
    for file, number, key, texts in _judged_texts(folder, TESTS):
        if same := len(texts & shots[key]):
            words = "1 text" if same == 1 else f"{same:,} texts"
            yield file, f"row {number} ({key[0]}, query {key[1]}) tests {words} of its shots"


def _judged_texts(folder: Path, name: str) -> Iterator[tuple[str, int, tuple, set[str]]]:
    """File, number, key and texts of each row of the table; without those that are not whole."""
    for file, number, row in release_files.rows(folder, name, Faults()):
        try:
            key = text_of(row, "user"), text_of(row, "query-id", "query_id")
            entries = _list(row, "response_list", JUDGED[name], *JUDGED.values())
            texts = {text_of(entry, "contents") for entry in entries if isinstance(entry, dict)}
        except DomainError:
            continue  # An import lists it.
        yield file, number, key, texts


def _each(folder: Path, name: str, release: BespokeRelease, take: Callable, *more: Any) -> None:
    """Let ``take`` store each row; a row that it refuses is a fault, and the others go on."""
    for file, number, row in release_files.rows(folder, name, release.faults):
        try:
            reasons = take(release, row, *more) or ()
        except DomainError as refusal:
            reasons = [refusal.sentence]
        for reason in reasons:
            release.faults.add(file, number, reason)


def _key(release: BespokeRelease, row: dict) -> tuple[str, str]:
    key = text_of(row, "user"), text_of(row, "query-id", "query_id")
    if key not in release.queries:
        raise DomainError(f"{key[0]} has no query {key[1]} in the query table")
    return key


def _query(release: BespokeRelease, row: dict) -> None:
    key = text_of(row, "user"), text_of(row, "query-id", "query_id")
    texts = text_of(row, "query"), text_of(row, "gold_information_need")
    if release.queries.setdefault(key, texts) != texts:
        raise DomainError(f"{key[0]} has another query {key[1]} in an earlier row")


def _judged(release: BespokeRelease, row: dict, column: str) -> list[str]:
    key = _key(release, row)
    entries = _list(row, "response_list", column, *JUDGED.values())
    responses = release.responses.setdefault(key, [])
    earlier, faults = responses.copy(), []
    for number, entry in enumerate(entries, start=1):
        try:
            response = *_response(entry), JUDGED[SHOTS] == column
        except DomainError as refusal:
            faults.append(f"response {number} of {key[0]}, query {key[1]}: {refusal.sentence}")
            continue
        # Several rows of a query are merged: a response may stand in more than one. Equal ones of
        # one row were judged one by one.
        if response in earlier:
            earlier.remove(response)
            release.repeated += 1
        else:
            responses.append(response)
    return faults


def _response(entry: object) -> tuple[str, list]:
    if not isinstance(entry, dict):
        raise DomainError("it is no object")
    return text_of(entry, "contents"), [_score(entry, name) for name in CRITERIA]


def _score(entry: dict, criterion: str) -> tuple[str, int, str]:
    rated = entry.get(criterion.lower().replace(" ", "_"))
    rated = rated if isinstance(rated, dict) else {}
    score = rated.get("score")
    if isinstance(score, float | str) and str(score).removesuffix(".0").isdecimal():
        score = int(str(score).removesuffix(".0"))
    if type(score) is not int or not LOWEST <= score <= HIGHEST:
        raise DomainError(f"it has no score of {criterion} from {LOWEST} to {HIGHEST}")
    feedback = rated.get("feedback") or ""
    if not isinstance(feedback, str):
        raise DomainError(f"its feedback on {criterion} is no text")
    return criterion, score, feedback


def _claims(release: BespokeRelease, row: dict) -> None:
    key = _key(release, row)
    claims = _list(row, "gold_information", "gold_information_value")
    if not all(isinstance(claim, str) for claim in claims):
        raise DomainError("a claim is no text")
    stored = release.claims.setdefault(key, [])
    stored += [claim for claim in dict.fromkeys(claims) if claim.strip() and claim not in stored]


def _rubric(release: BespokeRelease, row: dict) -> None:
    key, text = _key(release, row), text_of(row, "personalized_rubric_value")
    earlier = release.rubrics.get(key, "")
    if text not in earlier:
        release.rubrics[key] = f"{earlier}\n\n{text}" if earlier else text


def _session(release: BespokeRelease, row: dict, kind: str) -> None:
    entry = text_of(row, "user"), kind, text_of(row, "id"), text_of(row, "history")
    release.sessions.append(entry)


def _list(row: dict, key: str, *columns: str) -> list:
    value = json_of(row, *columns)
    if not isinstance(value, dict) or not isinstance(value.get(key), list):
        raise DomainError(f"there is no list “{key}”")
    return value[key]
