"""Keep, edit or drop each atomic claim of a gold response; what is left is the gold information."""

from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core.errors import DomainError
from annotation.judging.kinds import words
from annotation.judging.models import ClaimReview, ClaimVerdict
from annotation.queries.models import GoldClaim

MODEL = ClaimReview
TEMPLATE = "judging/kinds/claims.html"
NAME = gettext_lazy("check the claims of a gold response")
ASKS = ("query", "gold")
QUESTION = gettext_lazy("Which claims belong to a right answer?")
Verdict = ClaimVerdict.Verdict
DEFAULTS: dict = {}


@dataclass(frozen=True)
class Answer:
    """A verdict on every claim: (claim's id, verdict, new text)."""

    verdicts: tuple[tuple[int, str, str], ...]
    counter = ""

    @property
    def label(self) -> dict:
        return {str(claim): verdict for claim, verdict, _text in self.verdicts}


def check_config(config: dict) -> dict:
    """Return ``config`` with its defaults; DomainError names what is wrong with it."""
    return words.check("claims", config, DEFAULTS)


def read(data, held) -> Answer:
    """Read ``claim-ID`` and ``text-ID`` of a form, or ``claims`` of an API body.

    An API body has ``claims``: {claim id: {"verdict": keep|edit|drop, "text"}}.
    """
    verdicts = []
    claims = GoldClaim.objects.filter(response=held.gold).order_by("number")
    for n, claim in enumerate(claims, start=1):
        said = _said(data, claim.pk)
        sentence = _("Decide on claim %(n)d.") % {"n": n}
        verdict = words.choice_of(said, "verdict", Verdict.values, sentence)
        text = words.text_of(said, "text", "optional") if verdict == Verdict.EDIT else ""
        if verdict == Verdict.EDIT and not text:
            raise DomainError(_("Write the new text of claim %(n)d.") % {"n": n}, code="text")
        verdicts.append((claim.pk, verdict, text))
    return Answer(tuple(verdicts))


def store(answer: Answer, **common) -> ClaimReview:
    """Add the judgment and its verdicts; part of the caller's transaction."""
    review = MODEL.objects.create(**common)
    ClaimVerdict.objects.bulk_create(
        ClaimVerdict(review=review, claim_id=claim, verdict=verdict, text=text)
        for claim, verdict, text in answer.verdicts
    )
    return review


def answer_of(judgment: ClaimReview) -> Answer:
    """The answer that a stored judgment holds."""
    rows = judgment.verdicts.order_by("pk").values_list("claim_id", "verdict", "text")
    return Answer(tuple(rows))


def typed(answer: Answer, shown) -> dict:
    """The form's fields that would give this answer again."""
    fields = {}
    for claim, verdict, text in answer.verdicts:
        fields |= {f"claim-{claim}": [verdict], f"text-{claim}": [text]}
    return fields


def context(shown, typed) -> dict:
    """The claims with what has been typed."""
    return {
        "claims": [
            {
                "id": claim["id"],
                "text": claim["text"],
                "verdict": typed.get(f"claim-{claim['id']}", ""),
                "new": typed.get(f"text-{claim['id']}") or claim["text"],
            }
            for claim in shown.claims
        ],
        "verdicts": Verdict.choices,
    }


def _said(data, claim: int) -> dict:
    if "claims" not in data:
        return {"verdict": data.get(f"claim-{claim}"), "text": data.get(f"text-{claim}")}
    claims = data["claims"]
    said = claims.get(str(claim)) if isinstance(claims, dict) else None
    return said if isinstance(said, dict) else {}
