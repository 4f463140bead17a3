"""A BESPOKE release as a judge model needs it, and how far the judge is from the person. Pure.

The judge scores each response of `meta_test` on four criteria, with the person's rubric, query and
need, and with judged responses to the same query as examples. Another prompt asks, claim by claim,
whether the response holds the gold information. A judge that saw feedback is then asked whether
each feedback that it wrote says what the person's says.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from django.utils.translation import gettext_lazy as _

from annotation.agreement.statistics import correlation
from annotation.agreement.statistics.coefficient import Coefficient, undefined
from annotation.candidates.strategies import NEAREST, NEWEST, QUESTION_ALONE, Brief, by_name
from annotation.core.embed import embed
from annotation.core.words import StrOrPromise
from annotation.datasets.release_files import WITH_STRUCTURE, parts, whole_rows
from annotation.datasets.verdict import answered
from annotation.evaluation import metrics
from annotation.evaluation.asking import Question, chat, read_yes_no
from annotation.evaluation.pairs import BenchmarkError, digest_of, release_of
from annotation.evaluation.systems import Key, Writing
from annotation.evaluation.tables import N, Row, Table, names_of
from annotation.papers.bespoke.layout import CRITERIA, HISTORIES
from annotation.queries.scenarios import SHOTS

LAYOUT = "bespoke"
VERSION = "judge/2"
KEYS = tuple(name.lower().replace(" ", "_") for name in CRITERIA)
# What of the person a judge sees beside query and need: the rubric, with shots; or less of that.
ARMS: dict[str, StrOrPromise] = {
    "feedback": _("the rubric, and judged answers with scores and feedback"),
    "scores": _("the rubric, and judged answers with scores"),
    "rubric": _("the rubric alone"),
    "none": _("neither rubric nor judged answers"),
}
ABOUT = _(
    "How a model scores answers in a person's place: means of 100, and the correlation with that "
    "person."
)
NOTE = _(
    "Criteria are means of 1 to 5 times 20, Recall the share of claims that an answer holds. "
    "Correlations are over all scores that both gave. Feedback is the share of the judge's "
    "feedback that says, by its own verdict, what the person's says. Intervals are over persons, "
    "95 %."
)
# How a system's answers may be written from a release: what of the asker's sessions it is shown.
WRITERS: dict[str, StrOrPromise] = {
    "none": _("the question alone"),
    "history": _("the person's sessions"),
    "history-nearest": _("the sessions nearest to the question"),
    "search": _("the person's searches alone"),
    "profile": _("a profile made from the sessions"),
    "profile-nearest": _("a profile made from the nearest sessions"),
    "aware": _("what of the sessions bears on the question"),
    "aware-nearest": _("what of the nearest sessions bears on the question"),
    "oracle": _("the need itself"),
}
STRATEGY = {
    "none": QUESTION_ALONE, "history": "search-raw", "search": "search-raw",
    "profile": "search-static", "aware": "search-aware", "oracle": "search-oracle",
}  # fmt: skip
# Heads of tables by the names of figures.
SHORT = {
    "Need Alignment": "Need", "Content Depth": "Content", "Tone": "Tone",
    "Explanation Style": "Style", "recall": "Recall", "average": "Avg",
}  # fmt: skip
WITH_SHOTS = ("feedback", "scores")
TABLES: tuple[str, ...] = (
    "meta_test",
    "evaluation_shot",
    "personalized_rubric",
    "gold_information",
)
TRIES = 3
# Of a reply, a judgment or a claim: for the estimate of the cost alone.
TOKENS = 200
FULL = 20  # a mean of 1 to 5 in the papers' tables, out of 100
JUDGE, CLAIM, FEEDBACK = "judge", "claim", "feedback"
_DRAFT = {key: {"feedback": "?"} for key in KEYS}
_FIRST_LINE = re.compile(rf"^\W*{CRITERIA[0]}\W+score", re.I | re.M)


@dataclass(frozen=True)
class Response:
    """A response with the person's scores and feedback by key; a score may be None."""

    text: str
    scores: dict[str, int | None]
    feedback: dict[str, str]
    # Of a test its number, of a system's answer that of its query: units of questions have it.
    place: int = 0


@dataclass
class Query:
    user: str
    id: str
    text: str = ""
    need: str = ""
    rubric: str = ""
    claims: list[str] = field(default_factory=list)
    shots: list[Response] = field(default_factory=list)
    tests: list[Response] = field(default_factory=list)


@dataclass(frozen=True)
class Judged:
    """All queries with a response to test."""

    queries: list[Query]
    digest: str
    release: str
    layout: str = LAYOUT
    folder: Path = Path()


def read(folder: Path) -> Judged:
    """Read a release's folder. Raises BenchmarkError with the file and row of the first fault."""
    folder, queries = Path(folder), {}
    files = {name: _files(folder, name) for name in TABLES}
    if not files["meta_test"]:
        raise BenchmarkError(f"{folder} holds no meta_test: it is no BESPOKE release.")
    for name, paths in files.items():
        for path in paths:
            for number, row in whole_rows(path, f"{name}/{path.name}", BenchmarkError):
                try:
                    _take(queries, name, row)
                except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
                    missing = f"{error} is missing." if isinstance(error, KeyError) else ""
                    why = missing or "the value is not what the layout asks for."
                    raise BenchmarkError(f"{name}/{path.name}, row {number}: {why}") from error
    tested = [query for query in queries.values() if query.tests]
    if not tested:
        raise BenchmarkError(f"{folder} holds no response to test.")
    paths = [path for listed in files.values() for path in listed]
    return Judged(tested, digest_of(paths), release_of(folder), folder=folder)


def _files(folder: Path, name: str) -> list[Path]:
    inside = folder / name
    return sorted([*inside.glob("*.parquet"), *inside.glob("*.jsonl")])


def _take(queries: dict, name: str, row: dict) -> None:
    """Put one row of a table where it belongs; rows of one query are merged."""
    key = (str(row["user"]), str(row["query-id"]))
    query = queries.setdefault(key, Query(*key))
    column = {"meta_test": "meta_test_set"}.get(name, name)
    value = row[f"{column}_value"]
    if name == "personalized_rubric":
        query.rubric = f"{query.rubric}\n{value}".strip()
    elif name == "gold_information":
        query.claims += [str(claim) for claim in json.loads(value)["gold_information"]]
    else:
        judgment = json.loads(value)
        query.text, query.need = judgment["query"], judgment["gold_information_need"]
        taken = query.tests if name == "meta_test" else query.shots
        taken += [_response(entry) for entry in judgment["response_list"]]


def _response(entry: dict) -> Response:
    scored = {key: entry.get(key) or {} for key in KEYS}
    return Response(
        str(entry["contents"]),
        {key: _score(part.get("score")) for key, part in scored.items()},
        {key: str(part.get("feedback") or "") for key, part in scored.items()},
    )


def _score(value: object) -> int | None:
    return int(value) if isinstance(value, int | float) and value in (1, 2, 3, 4, 5) else None


def tests(judged: Judged) -> list[tuple[Query, Response]]:
    """Every response to judge with its query, in the release's order."""
    every = [(query, response) for query in judged.queries for response in query.tests]
    return [(query, replace(response, place=n)) for n, (query, response) in enumerate(every)]


def questions(asked: list[tuple[Query, Response]], arm: str) -> Iterator[Question]:
    """For each response its judgment, and a question a claim; units are "place:judge" and so on."""
    for query, response in asked:
        messages = partial(judge_messages, query, response, arm)
        yield Question(f"{response.place}:{JUDGE}", messages, whole_judgment, TRIES)
        for number, claim in enumerate(query.claims):
            asking = partial(claim_messages, query, response, claim)
            yield Question(f"{response.place}:{CLAIM}:{number}", asking, read_yes_no)


def later(
    asked: list[tuple[Query, Response]], arm: str, values: dict[str, dict]
) -> Iterator[Question]:
    """For each judgment with feedback one question; an unwritten one stands for an estimate."""
    for query, response in asked if arm == "feedback" else ():
        judgment = values.get(f"{response.place}:{JUDGE}") if values else _DRAFT
        if compared := _compared_feedback(response, judgment or {}):
            messages = partial(_feedback_messages, query, compared)
            reading = partial(_read_matches, keys=tuple(compared))
            yield Question(f"{response.place}:{FEEDBACK}", messages, reading, TRIES)


def _compared_feedback(response: Response, judgment: dict) -> dict[str, tuple[str, str]]:
    """{key: the person's feedback and the judge's} where both wrote one."""
    both = {key: (response.feedback.get(key, ""), judgment.get(key, {}).get("feedback", ""))
            for key in KEYS}  # fmt: skip
    return {key: texts for key, texts in both.items() if all(texts)}


def _feedback_messages(query: Query, compared: dict[str, tuple[str, str]]) -> list[dict]:
    names = dict(zip(KEYS, CRITERIA, strict=True))
    texts = [f"{names[key]}\nFirst: {person}\nSecond: {judge}"
             for key, (person, judge) in compared.items()]  # fmt: skip
    lines = "\n".join(f"{names[key]}: <yes or no>" for key in compared)
    return chat(
        "Two readers wrote feedback on a response. For each criterion decide whether the second "
        "finds the same good or lacking, for the same reason, as the first; other words for the "
        f"same count. End with exactly these lines:\n{lines}",
        f"Query:\n{query.text}\n\n" + "\n\n".join(texts),
    )


def _read_matches(text: str, keys: tuple[str, ...]) -> dict[str, bool] | None:
    """{key: whether the feedback says the same}; None where a line lacks."""
    matches = {}
    for name, key in zip(CRITERIA, KEYS, strict=True):
        words = re.findall(rf"^\W*{name}\W+(yes|no)\b", answered(text), re.I | re.M)
        matches |= {key: words[-1].lower() == "yes"} if words and key in keys else {}
    return matches if len(matches) == len(keys) else None


def judge_messages(query: Query, response: Response, arm: str) -> list[dict]:
    """Ask for score and feedback on each criterion."""
    lines = "\n".join(f"{name} Score: <1-5>\n{name} Feedback: <why>" for name in CRITERIA)
    parts = [f"Query:\n{query.text}", f"The need behind it:\n{query.need}"]
    if query.rubric and arm != "none":
        parts.append(f"This person's rubric:\n{query.rubric}")
    parts += [_shot(number, shot, arm) for number, shot in enumerate(_shots(query, arm), 1)]
    parts.append(f"Response to judge:\n{response.text}")
    return chat(
        "You judge a response as one particular person would. Scores are whole numbers from 1 "
        "(does not fit this person at all) to 5 (fits fully). First think after the word THINK, "
        f"then write exactly these eight lines:\n{lines}",
        "\n\n".join(parts),
    )


def _shot(number: int, shot: Response, arm: str) -> str:
    lines = [f"Response {number} that this person judged:", shot.text]
    for name, key in zip(CRITERIA, KEYS, strict=True):
        if shot.scores[key] is not None:
            lines.append(f"{name} Score: {shot.scores[key]}")
            if arm == "feedback" and shot.feedback[key]:
                lines.append(f"{name} Feedback: {shot.feedback[key]}")
    return "\n".join(lines)


def claim_messages(query: Query, response: Response, claim: str) -> list[dict]:
    """Ask whether the response holds the core meaning of one claim."""
    return chat(
        "Decide whether a response holds the core meaning of a claim; other words for the same "
        "count. End with one line: yes or no.",
        f"Query:\n{query.text}\n\nResponse:\n{response.text}\n\nClaim:\n{claim}",
    )


def read_judgment(text: str) -> dict[str, dict]:
    """{key: {"score": 1-5 or None, "feedback": text}} of the eight lines, as far as they are."""
    text = answered(text)
    # The eight lines come last: scores that a thought plays with stand before them.
    text = text[max((m.start() for m in _FIRST_LINE.finditer(text)), default=0) :]
    judgment = {}
    for name, key in zip(CRITERIA, KEYS, strict=True):
        line = rf"^\W*{name}\W+"
        scores = re.findall(line + r"score\W{1,6}([1-5])(?!\.?\d)", text, re.I | re.M)
        feedback = re.findall(line + r"feedback\W{1,6}(.*)$", text, re.I | re.M)
        judgment[key] = {
            "score": int(scores[-1]) if scores else None,
            "feedback": feedback[-1].strip() if feedback else "",
        }
    return judgment


def whole_judgment(text: str) -> dict | None:
    """The judgment where no score is missing, else None."""
    judgment = read_judgment(text)
    return judgment if all(part["score"] is not None for part in judgment.values()) else None


def row(criteria: dict[str, float | None], recall: float | None) -> dict:
    """The paper's row: each criterion's mean times 20, recall in per cent, and their plain mean."""
    values = [*criteria.values(), recall]
    numbers = [value for value in values if value is not None]
    average = float(np.mean(numbers)) if len(numbers) == len(values) else None
    return {"criteria": criteria, "recall": recall, "average": average}


def summary(asked: list[tuple[Query, Response]], replies: dict[str, tuple]) -> dict:
    """The paper's row and the agreement with the persons, of {unit: (value, text)}."""
    return scored(None, asked, replies) | {
        "agreement": agreement(asked, _judgments(asked, replies)),
        "feedback": _feedback_accuracy(asked, replies),
    }


def _feedback_accuracy(asked: list[tuple[Query, Response]], replies: dict[str, tuple]) -> dict:
    """Per cent of the judge's feedback that says what the person's says; by criterion and person.

    ``n`` are feedbacks that both wrote, ``unparsed`` responses whose comparison cannot be read.
    """
    matches: list[tuple[str, bool]] = []
    unread = 0
    for query, response in asked:
        value = replies.get(f"{response.place}:{FEEDBACK}", ({}, ""))[0]
        unread += value is None
        matches += [(query.user, same) for same in (value or {}).values()]
    return metrics.mean_over_people(matches, 100).as_json() | {"unparsed": unread}


def scored(
    judged: Judged | None, asked: list[tuple[Query, Response]], replies: dict[str, tuple]
) -> dict:
    """The paper's row, with intervals over persons.

    Recall is 0 for a response without claims, and a claim whose reply cannot be read is not
    matched; both are counted.
    """
    judgments = _judgments(asked, replies)
    matched, unread = _recall(asked, replies)
    return {
        **_figures([query.user for query, _response in asked], judgments, matched),
        "missing_scores": sum(
            score is None for judgment in judgments for score in judgment.values()
        ),
        "without_claims": sum(not query.claims for query, _response in asked),
        "unparsed_claims": unread,
    }


def _figures(users: list[str], judgments: list[dict], recall: list[float] | None) -> dict:
    """``row`` of some responses, with ``n``, ``persons`` and {name: [low, high]} of its values."""
    columns = [[judgment[key] for judgment in judgments] for key in KEYS]
    values = np.array(columns, dtype=float).T * FULL
    share = np.full(len(users), np.nan) if recall is None else 100 * np.array(recall)
    cells = metrics.over_people(np.column_stack([values, share]), users)
    named = dict(zip([*CRITERIA, "recall", "average"], cells, strict=True))
    return {
        "n": len(users),
        "persons": len(set(users)),
        **row({name: named[name].value for name in CRITERIA}, named["recall"].value),
        "intervals": {
            name: [cell.low, cell.high] for name, cell in named.items() if cell.low is not None
        },
    }


def queries(judged: Judged) -> dict[tuple[str, str], str]:
    return {(query.user, query.id): query.text for query in judged.queries}


def writing(judged: Judged, arm: str, limit: int | None) -> Writing:
    """A system that answers the queries from their askers' sessions, by a strategy of the paper."""
    name, _dash, nearest = arm.partition("-")
    strategy = by_name()[STRATEGY[name]]
    kinds = ("search",) if arm == "search" else tuple(HISTORIES.values())
    sessions = _sessions(judged.folder, kinds) if strategy.history else {}
    if strategy.history and not sessions:
        raise BenchmarkError(
            f"{judged.folder} holds no sessions: no answer can be written from them."
        )
    briefs = {}
    for query in judged.queries[:limit]:
        texts = sessions.get(query.user, [])
        shown = _nearest(query.text, texts) if nearest else texts[:NEWEST]
        need = query.need if strategy.oracle else ""
        briefs[query.user, query.id] = Brief(query.text, history=tuple(shown), need=need)
    return Writing(strategy, briefs)


def _sessions(folder: Path, kinds: tuple[str, ...]) -> dict[str, list[str]]:
    """{user: texts of the sessions}, in the release's order: it has no times."""
    sessions: dict[str, list[str]] = {}
    for name, kind in HISTORIES.items():
        for path in parts(folder, name, WITH_STRUCTURE) if kind in kinds else ():
            for _number, row in whole_rows(path, f"{name}{path.suffix}", BenchmarkError):
                sessions.setdefault(str(row.get("user")), []).append(str(row.get("history") or ""))
    return sessions


def _nearest(question: str, texts: list[str]) -> list[str]:
    near = embed(texts) @ embed([question])[0]
    return [texts[place] for place in np.argsort(-near, kind="stable")[:NEAREST]]


def of_system(
    judged: Judged, texts: dict[Key, str], arm: str
) -> tuple[list[tuple[Query, Response]], set[Key]]:
    """A system's ``texts`` as responses without scores, and the queries that are left out.

    What is an example for the judge was scored before its eyes: it cannot be judged.
    """
    asked, examples = [], set()
    for place, query in enumerate(judged.queries):
        key = (query.user, query.id)
        if texts.get(key) in [shot.text for shot in _shots(query, arm)]:
            examples.add(key)
        elif key in texts:
            asked.append((query, Response(texts[key], {}, {}, place)))
    return asked, examples


def _shots(query: Query, arm: str) -> list[Response]:
    return query.shots[:SHOTS] if arm in WITH_SHOTS else []


def people(judged: Judged, keys: Collection[tuple[str, str]]) -> dict:
    """The row of the release's own responses to some queries, as their askers scored them."""
    there = [entry for entry in tests(judged) if (entry[0].user, entry[0].id) in keys]
    scores = [response.scores for _query, response in there]
    return _figures([query.user for query, _response in there], scores, None)


def _judgments(asked: list[tuple[Query, Response]], replies: dict[str, tuple]) -> list[dict]:
    return [_judgment(*replies.get(f"{response.place}:{JUDGE}", (None, "")))
            for _query, response in asked]  # fmt: skip


def _judgment(value: dict | None, text: str) -> dict[str, int | None]:
    judgment = value or read_judgment(text)
    return {key: judgment[key]["score"] for key in KEYS}


def _recall(asked: list[tuple[Query, Response]], replies: dict) -> tuple[list[float], int]:
    """The share of matched claims of each response; how many replies could not be read."""
    shares, unread = [], 0
    for query, response in asked:
        values = [
            replies.get(f"{response.place}:{CLAIM}:{number}", (None, ""))[0]
            for number in range(len(query.claims))
        ]
        unread += values.count(None)
        shares.append(values.count(True) / len(values) if values else 0.0)
    return shares, unread


def agreement(asked: list[tuple[Query, Response]], judgments: list[dict]) -> dict:
    """Pearson's and Spearman's correlation of judge and person over all scores that both gave.

    Intervals resample persons with all their scores; with one person there is none.
    """
    users: dict[str, int] = {}
    rows = [
        (users.setdefault(query.user, len(users)), judgment[key] - 1, score - 1)
        for (query, response), judgment in zip(asked, judgments, strict=True)
        for key in KEYS
        if judgment[key] is not None and (score := response.scores[key]) is not None
    ]
    person, judge, mark = np.array(rows, dtype=int).reshape(-1, 3).T
    statistics = {
        "pearson": lambda cells: correlation.pearson(cells, range(5), range(5)),
        "spearman": correlation.spearman,
    }
    values = {}
    for name, statistic in statistics.items():
        if len(rows) < 2:
            values[name] = undefined("two scores of both are needed").as_json()
            continue
        value = correlation.item_bootstrap(person, judge, mark, (5, 5), statistic)
        values[name] = _as_json(value, alone=len(users) == 1)
    return values | {"n": len(rows), "persons": len(users)}


def _as_json(coefficient: Coefficient, alone: bool) -> dict:
    if coefficient.value is None:
        return coefficient.as_json()
    if alone:
        coefficient = Coefficient(coefficient.value, reason="one person has no interval")
    return coefficient.as_json()


def table(results: list[dict]) -> Table:
    """The paper's table: the criteria, recall and their mean, the correlation with the person, and
    the accuracy of feedback.

    A limit asks about the first responses: as many are the same.
    """
    heads = [N, *SHORT.values(), "Pearson", "Spearman", "Feedback"]
    rows = [
        Row(
            f"shots: {result['setting']}",
            result["model"],
            [
                result["n"],
                *_cells(result),
                *(result["agreement"][name]["value"] for name in ("pearson", "spearman")),
                result.get("feedback", {}).get("value"),
            ],
            str(result["n"]),
            _intervals(result),
        )
        for result in sorted(results, key=lambda result: -result["n"])
    ]
    ranked = frozenset(heads) - {N}
    return Table(_("Judges"), heads, rows, digits=2, ranked=ranked, of="responses")


def systems(results: list[dict], judges: list[dict]) -> Table:
    """The paper's main table: systems with what they knew of the person, by the same judge.

    Below them stand people's own scores of the release's responses, and the judges' of these.
    Only systems that the same judge scored on the same queries are compared.
    """
    wanted = sorted(results, key=lambda result: -result["n"])
    names = names_of([(_compared(result), _scored_by(result)) for result in wanted])
    rows = [
        _row(result["model"], _system(result), result, name)
        for result, name in zip(wanted, names, strict=True)
    ]
    rows.sort(key=lambda row: (names.index(row.measured_on), -(row.values[-1] or 0), row.name))
    own = [(result["people"], "people", "their own scores") for result in wanted]
    own += [(result, result["model"], f"shots: {result['setting']}") for result in judges]
    for result, group, name in own:
        line = _row(group, name, result, f"{result['n']} responses of the release, {group}, {name}")
        if line not in rows:
            rows.append(line)
    heads = [N, "persons", *SHORT.values()]
    ranked = frozenset(SHORT.values())
    return Table(_("Systems"), heads, rows, 2, _("System"), ranked, "answers")


def _compared(result: dict) -> tuple:
    return result["asked"], result["model"], result["setting"]


def _scored_by(result: dict) -> str:
    whole = result["n"] + result["left_out"]["queries"] + result["left_out"]["examples"]
    return f"{result['n']} of {whole} queries, {result['model']}, shots: {result['setting']}"


def _system(result: dict) -> str:
    return f"{result['system']}, {result['context']}" if result["context"] else result["system"]


def _row(group: str, name: str, result: dict, measured_on: str) -> Row:
    values = [result["n"], result["persons"], *_cells(result)]
    return Row(group, name, values, measured_on, _intervals(result))


def _cells(result: dict) -> list[float | None]:
    return [*(result["criteria"][name] for name in CRITERIA), result["recall"], result["average"]]


def _intervals(result: dict) -> dict[str, tuple[float, float]]:
    bounds = result.get("intervals", {})
    return {SHORT[name]: (low, high) for name, (low, high) in bounds.items()}


def words(result: dict) -> str:
    """The row, and the agreement with the persons or what is left out."""
    # PostgreSQL keeps no order of keys.
    cells = {name: result["criteria"][name] for name in CRITERIA}
    cells |= {"Recall": result["recall"], "Avg": result["average"]}
    line = "  ".join(f"{name} {_number(value)}" for name, value in cells.items())
    missing = (
        f"{result['missing_scores']} scores missing, {result['unparsed_claims']} claims unread"
    )
    if agreed := result.get("agreement"):
        shown = [f"{name} {_number(agreed[name]['value'], 3)}" for name in ("pearson", "spearman")]
        return (
            f"{result['model']}: {line}\nwith the person: {', '.join(shown)} "
            f"({agreed['n']} scores; {missing}); feedback says the same: "
            f"{_number(result['feedback']['value'])} % of {result['feedback']['n']}"
        )
    out = result["left_out"]
    return (
        f"{result['system']} by {result['model']}: {line}\n{result['n']} answers, "
        f"{result['persons']} persons; left out: {out['answers']} answers to no query of the "
        f"release, {out['queries']} queries without an answer, {out['examples']} answers that "
        f"the judge is shown as examples ({missing})"
    )


def _number(value: float | None, places: int = 2) -> str:
    return "–" if value is None else f"{value:.{places}f}"
