"""The easy tier of a study: not voted into being, but a ground truth against a generic answer."""

from annotation.agreement import reading, tiers
from annotation.judging.models import ItemOption

QUESTION_ALONE = "A3"
REASON = "pairs of a ground truth and the answer to the question alone are not voted on"


def easy_tier(study) -> dict:
    """The entry of the easy tier in the contract's tiers document.

    Its items are the questions whose three-way ground truth is not the answer that was written from
    the question alone (strategy A3), each a pair with that answer.
    """
    nothing = {"value": None, "reason": REASON}
    return {
        "items": sum(_pairs(study, definition) for definition in _triples(study)),
        "percent_agreement": nothing,
        "symmetric_kappa": nothing,
        "fleiss_kappa": nothing,
        "band": None,
        "in_band": None,
        "note": REASON,
    }


def _triples(study) -> list:
    """The newest definition of each task with three options that has votes."""
    voted = study.tasks.filter(name__in=reading.voted_tasks(study)).order_by("name", "-version")
    return [one for one in voted.distinct("name") if one.config["options"] == 3]


def _pairs(study, definition) -> int:
    known = reading.read(study, definition)
    waiting = reading.collecting(study, definition.name)
    judged = tiers.judge(known.votes, len(known.declared), collecting=waiting)
    won = {item.task: int(item.winner) for item in judged if (item.winner or "").isdigit()}
    generic = ItemOption.objects.filter(
        item__study=study, item__external_id__in=won, candidate__strategy=QUESTION_ALONE
    )
    rows = generic.values_list("item__external_id", "number")
    return sum(won[item] != number for item, number in rows)
