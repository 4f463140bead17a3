"""What judgments of every kind say, read from the shared table in a few statements a chunk.

A row of ``rows`` becomes a Said: the ``label`` on which people agree or not (text; None for kinds
with many scores), the ``answer`` (the label, or a JSON object) and its ``detail`` (how much better,
or why not). Everything is under the ids of the bundle: database ids do not leave the house.
"""

from collections import defaultdict
from dataclasses import dataclass

from annotation.judging.models import ClaimVerdict, Score

# Fields of a judgment, as ``values`` gives them.
SAID = (
    "selection__outcome",
    "selection__choice__candidate__external_id",
    "selection__strength",
    "preference__value",
    "attributeverdict__verdict",
    "attributeverdict__cause",
    "relevance__relevant",
)
# Kinds whose answers are a label; the others have a row a score or claim.
SCALAR = ("selection", "preference", "attribute", "relevance")


@dataclass(frozen=True, slots=True)
class Said:
    """One answer; see above."""

    label: str | None
    answer: str | dict
    detail: str = ""


def read(rows: list[dict], kinds: dict) -> dict[int, Said]:
    """{judgment's id: Said} of ``rows``, dictionaries of ``pk`` and SAID.

    ``kinds`` is {judgment's id: kind}. A preference counts from 1, the item's first candidate much
    better, to the scale's end, its second one.
    """
    scores = _scores([pk for pk, kind in kinds.items() if kind == "feedback"])
    claims = _claims([pk for pk, kind in kinds.items() if kind == "claims"])
    said = {}
    for row in rows:
        pk, kind = row["pk"], kinds[row["pk"]]
        if kind in SCALAR:
            label, detail = _SCALAR[kind](row)
            said[pk] = Said(label, label, detail)
        else:
            said[pk] = Said(None, (scores if kind == "feedback" else claims)[pk])
    return said


def _selection(row):
    label = row["selection__choice__candidate__external_id"] or row["selection__outcome"]
    return label, row["selection__strength"]


def _preference(row):
    return str(row["preference__value"]), ""


def _attribute(row):
    return row["attributeverdict__verdict"], row["attributeverdict__cause"]


def _relevance(row):
    return ("yes" if row["relevance__relevant"] else "no"), ""


_SCALAR = {
    "selection": _selection,
    "preference": _preference,
    "attribute": _attribute,
    "relevance": _relevance,
}


def _scores(judgments: list[int]) -> dict[int, dict]:
    """{judgment: {candidate: {criterion: {"score", "feedback", "chips"}}}}."""
    found = defaultdict(lambda: defaultdict(dict))
    if judgments:
        rows = Score.objects.filter(feedback__in=judgments).order_by("feedback", "pk")
        for pk, candidate, criterion, score, text, chips in rows.values_list(
            "feedback", "option__candidate__external_id", "criterion", "score", "text", "chips"
        ):
            entry = {"score": score, "feedback": text, "chips": chips}
            found[pk][candidate][criterion] = entry
    return found


def _claims(judgments: list[int]) -> dict[int, dict]:
    """{judgment: {the claim's number: {"claim", "verdict", "text"}}}."""
    found = defaultdict(dict)
    if judgments:
        rows = ClaimVerdict.objects.filter(review__in=judgments).order_by("review", "claim__number")
        for pk, number, claim, verdict, text in rows.values_list(
            "review", "claim__number", "claim__text", "verdict", "text"
        ):
            found[pk][str(number)] = {"claim": claim, "verdict": verdict, "text": text}
    return found
