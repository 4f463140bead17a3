"""Keep, edit or drop each atomic claim of a gold response; what is left is the gold information."""

from collections import defaultdict
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.judging.kinds import base, common, planning
from annotation.judging.kinds.claims.form import ClaimsBody
from annotation.judging.kinds.claims.tables import ClaimReview, ClaimVerdict
from annotation.judging.kinds.form import TaskForm
from annotation.queries import grounding
from annotation.queries.models import GoldClaim

Verdict = ClaimVerdict.Verdict


@dataclass(frozen=True)
class Part:
    """The verdict on one claim, with its new text; ``number`` and ``claim`` are the claim's."""

    pk: int
    verdict: str
    text: str = ""
    number: int = 0
    claim: str = ""


@dataclass(frozen=True)
class Answer:
    """A verdict on every claim, in their order."""

    parts: tuple[Part, ...]
    detail = ""

    @property
    def label(self) -> dict[str, str]:
        """{claim's row: verdict}."""
        return {str(part.pk): part.verdict for part in self.parts}


class ClaimsKind(base.Kind):
    CODE = "claims"
    NAME = gettext_lazy("check the claims of a gold response")
    QUESTION = gettext_lazy("Which claims belong to a right answer?")
    MODEL = ClaimReview
    Form = TaskForm
    Body = ClaimsBody
    ASKS = ("query", "gold")
    PUBLISHED = False
    LEVEL = "none"
    SHAPE = "parts"

    def plan(self, study, task, scope=planning.EVERYTHING):
        return planning.gold_responses(study, task, scope)

    def labels(self, config: dict) -> list[str]:
        return list(Verdict.values)

    def expected(self, value, row: dict, config: dict):
        raise DomainError("a check of claims cannot come with a bundle")

    def read(self, data, held) -> Answer:
        """``claim-ID`` and ``text-ID`` of a form, or ``claims`` of an API body:
        {claim id: {"verdict": keep|edit|drop, "text"}}.
        """
        claims = GoldClaim.objects.filter(response=held.gold).order_by("number")
        return Answer(tuple(_part(data, claim, n) for n, claim in enumerate(claims, start=1)))

    def parts(self, answer: Answer, held, judgment: int) -> list[ClaimVerdict]:
        return [
            ClaimVerdict(review_id=judgment, claim_id=part.pk, verdict=part.verdict, text=part.text)
            for part in answer.parts
        ]

    def typed(self, answer: Answer, shown) -> dict:
        fields = {}
        for part in answer.parts:
            fields |= {f"claim-{part.pk}": [part.verdict], f"text-{part.pk}": [part.text]}
        return fields

    def context(self, shown, typed) -> dict:
        response = shown.gold or ""
        claims = [
            {
                "id": claim["id"],
                "text": claim["text"],
                "missing": grounding.missing_words(claim["text"], response),
                "verdict": typed.get(f"claim-{claim['id']}", ""),
                "new": typed.get(f"text-{claim['id']}") or claim["text"],
            }
            for claim in shown.claims
        ]
        ungrounded = sum(1 for claim in claims if claim["missing"])
        return {"claims": claims, "verdicts": Verdict.choices, "ungrounded": ungrounded}

    def answers(self, judgments) -> dict[int, Answer]:
        rows = ClaimVerdict.objects.filter(sql.among("review", judgments)).order_by(
            "review", "claim__number"
        )
        parts = defaultdict(list)
        columns = ("claim_id", "verdict", "text", "claim__number", "claim__text")
        for review, *row in rows.values_list("review", *columns):
            parts[review].append(Part(*row))
        return {pk: Answer(tuple(parts[pk])) for pk in judgments}

    def of_label(self, label: dict[str, str]) -> Answer:
        # Keys of a JSON column come back in another order.
        pairs = sorted(label.items(), key=lambda pair: int(pair[0]))
        return Answer(tuple(Part(int(claim), verdict) for claim, verdict in pairs))

    def label_words(self, label: str, config: dict) -> str:
        return str(Verdict(label).label)

    def words(self, answer: Answer, config: dict) -> list[str]:
        return [
            f"{_name(n)}: {Verdict(part.verdict).label}"
            for n, part in enumerate(answer.parts, start=1)
        ]

    def remarks(self, answer: Answer, config: dict) -> list[str]:
        parts = enumerate(answer.parts, start=1)
        return [f"{_name(n)}: {part.text}" for n, part in parts if part.text]

    def fields(self, item, config: dict) -> list[base.Field]:
        claims = item.gold.claims.order_by("number") if item.gold_id else []
        choices = self.label_choices(config)
        return [
            base.Field(str(claim.pk), _name(n), choices) for n, claim in enumerate(claims, start=1)
        ]

    def label_json(self, label: dict, ids: dict[int, str]) -> dict:
        """{the claim's number: verdict}."""
        numbers = dict(GoldClaim.objects.filter(pk__in=label).values_list("pk", "number"))
        return {str(numbers[int(claim)]): verdict for claim, verdict in label.items()}

    def answer_json(self, answer: Answer, ids: dict[int, str]) -> dict:
        """{the claim's number: {"claim", "verdict", "text"}}."""
        return {
            str(part.number): {"claim": part.claim, "verdict": part.verdict, "text": part.text}
            for part in answer.parts
        }


def _name(n: int) -> str:
    return _("Claim %(n)d") % {"n": n}


def _part(data, claim: GoldClaim, n: int) -> Part:
    fields = _fields(data, claim.pk)
    sentence = _("Decide on claim %(n)d.") % {"n": n}
    verdict = common.choice_of(fields, "verdict", Verdict.values, sentence)
    if verdict != Verdict.EDIT:
        return Part(claim.pk, verdict)
    text = common.text_of(fields, "text", "optional")
    if not text:
        raise DomainError(_("Write the new text of claim %(n)d.") % {"n": n}, code="text")
    return Part(claim.pk, verdict, text)


def _fields(data, claim: int) -> dict:
    """What was sent of one claim, as in the body of the API."""
    if "claims" not in data:
        return {"verdict": data.get(f"claim-{claim}"), "text": data.get(f"text-{claim}")}
    claims = data["claims"]
    fields = claims.get(str(claim)) if isinstance(claims, dict) else None
    return fields if isinstance(fields, dict) else {}
