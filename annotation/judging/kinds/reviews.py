"""What owners decided on the claims of their gold responses."""

from annotation.judging.kinds.presets import CLAIMS
from annotation.judging.models import Judgment, JudgmentQuerySet


def claim_reviews() -> JudgmentQuerySet:
    """The judgments that decide on claims."""
    return Judgment.objects.filter(slot__item__batch__task__kind=CLAIMS.code)


def accepted(review: Judgment) -> list[str]:
    """The claims that a review accepts, as edited: the gold information."""
    parts = CLAIMS.answer_json(CLAIMS.answer_of(review), {}, {})
    return [part["text"] or part["claim"] for part in parts.values() if part["verdict"] != "drop"]
