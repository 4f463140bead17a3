"""BESPOKE's retrieval study: which of a person's sessions a question finds, itself or expanded.

The retriever is the one of generation (histories.search) over the sessions that the owner keeps;
right are those that the owner grounded the question in. An expansion is written by a model that
sees the question alone: nothing of a history leaves the platform.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence
from statistics import fmean, stdev
from typing import cast
from uuid import UUID

from annotation.accounts.models import User
from annotation.agreement.statistics.coefficient import Coefficient, with_t_interval
from annotation.candidates import generate
from annotation.candidates.models import Candidate
from annotation.candidates.strategies import Prompt, Wording, language
from annotation.core.errors import DomainError
from annotation.histories import browse, search
from annotation.queries.models import Query
from annotation.studies.models import Study

DEPTH = 10
PURPOSE = Candidate.Purpose.EXPANSION
# The question as it is, and what a model makes of it.
QUESTION = "question"
_TASK = (
    "A person asks a question. Their earlier conversations with an assistant are to be searched "
    "for what bears on it; you do not see them."
)
WORDINGS = {
    "reasoning": Wording(
        "expand-reasoning/1",
        f"{_TASK} Think about what this person may have talked about before that would matter for "
        "a good answer, then write the words and topics to search for, in one paragraph of at most "
        "60 words. Do not answer the question. {language}",
        "{question}",
    ),
    "pseudo-history": Wording(
        "expand-pseudo-history/1",
        f"{_TASK} Write one short earlier conversation of this person, made up but plausible, in "
        "which such things come up, of at most 80 words. Do not answer the question. {language}",
        "{question}",
    ),
}
WAYS = (QUESTION, *WORDINGS)


def questions(study: Study) -> dict[Query, set[UUID]]:
    """{question: sessions it is grounded in} of owners, where they still keep such a session."""
    rows = Query.objects.filter(study=study, replaced_at=None, ready=True, grounds__isnull=False)
    grounded = {}
    for query in rows.exclude(owner=None).select_related("owner").distinct().order_by("pk"):
        sessions = browse.sessions(cast(User, query.owner), study).filter(grounds__query=query)
        if grounds := set(sessions.values_list("pk", flat=True)):
            grounded[query] = grounds
    if not grounded:
        raise DomainError("No owner grounded a question in a session that they keep.", code="none")
    return grounded


def request(study: Study, ways: Collection[str], *, endpoint: str = "") -> list[Candidate]:
    """Ask for each question's expansions; the rows, also of those that were asked for before."""
    return [
        generate.request_text(query, PURPOSE, way, _prompt(way, query), endpoint=endpoint)
        for query in questions(study)
        for way in ways
        if way != QUESTION
    ]


def _prompt(way: str, query: Query) -> Prompt:
    return WORDINGS[way].prompt(question=query.text, language=language(query.text))


def measure(study: Study, ways: Sequence[str], expansions: Sequence[Candidate]) -> dict:
    """nDCG@10 of each of ``ways``, on the questions that all of them have a text for.

    ``{"questions", "people", "left_out", "rows": [{"way", "ndcg"}]}``: the mean over people of each
    one's mean, with its interval over people.
    """
    texts: dict[Query, dict[str, str]] = defaultdict(dict)
    for row in expansions:
        row.refresh_from_db()
        if row.status == Candidate.Status.DONE:
            texts[row.query][row.strategy.removeprefix(f"{PURPOSE}-")] = row.text
    grounded = questions(study)
    scores: dict[str, dict[int, list[float]]] = {way: defaultdict(list) for way in ways}
    measured = 0
    for query, grounds in grounded.items():
        written = _searched(query, texts[query])
        if not written.keys() >= set(ways):
            continue
        measured += 1
        owner = cast(User, query.owner)
        for way in ways:
            sessions = browse.sessions(owner, study)
            hits = search.find(owner, written[way], DEPTH, only=sessions)
            scores[way][owner.pk].append(ndcg(list(hits), grounds))
    if not measured:
        raise DomainError("No question has all its expansions.", code="none")
    return {
        "questions": measured,
        "people": len(scores[ways[0]]),
        "left_out": len(grounded) - measured,
        "rows": [{"way": way, "ndcg": _over_people(scores[way]).as_json()} for way in ways],
    }


def _searched(query: Query, texts: dict[str, str]) -> dict[str, str]:
    """What is searched for by each way: reasoning beside the question, a made-up session alone."""
    searched = {QUESTION: query.text} | texts
    if "reasoning" in searched:
        searched["reasoning"] = f"{query.text}\n{searched['reasoning']}"
    return searched


def ndcg(retrieved: Sequence[UUID], relevant: Collection[UUID], depth: int = DEPTH) -> float:
    """Normalised discounted cumulative gain of the first ``depth``, all relevant ones alike.

    Järvelin and Kekäläinen 2002: a gain of 1 at rank r counts 1 / log2(r + 1).
    """
    gains = [1 / math.log2(rank + 1) for rank in range(1, depth + 1)]
    gain = sum(gain for gain, session in zip(gains, retrieved, strict=False) if session in relevant)
    return gain / sum(gains[: len(relevant)])


def _over_people(scores: dict[int, list[float]]) -> Coefficient:
    means = [fmean(gains) for gains in scores.values()]
    se = stdev(means) / math.sqrt(len(means)) if len(means) > 1 else 0.0
    return with_t_interval(fmean(means), se, len(means), floor=0.0)
