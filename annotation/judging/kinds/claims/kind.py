"""Keep, edit or drop each atomic claim of a gold response; what is left is the gold information."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.core import sql
from annotation.core.errors import DomainError
from annotation.judging import models
from annotation.judging.kinds import base, body, planning
from annotation.judging.kinds.claims.form import ClaimBody, ClaimsBody, Verdict
from annotation.judging.kinds.form import TaskForm
from annotation.judging.kinds.imported import ImportedJudgment, ReleasedAnswer
from annotation.judging.kinds.planning import EVERYTHING, Scope
from annotation.judging.kinds.slots import Config, Data, Held, Ordered, Shown
from annotation.judging.models import Item
from annotation.queries import scenarios
from annotation.queries.models import GoldClaim
from annotation.studies.models import Study, TaskDefinition


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

    @property
    def accepted(self) -> list[str]:
        """The claims that were accepted, as edited."""
        parts = (part for part in self.parts if part.verdict != Verdict.DROP)
        return [part.text or part.claim for part in parts]


class ClaimsKind(base.Kind[Answer, ClaimsBody, dict[str, str]]):
    CODE = "claims"
    NAME = gettext_lazy("check the claims of a gold response")
    QUESTION = gettext_lazy("Which claims belong to a right answer?")
    PRIMARY = "claims"
    Form = TaskForm
    Body = ClaimsBody
    ASKS = ("query", "gold")
    LEVEL = "none"
    SHAPE = "parts"

    def imported_body(self, judgment: ImportedJudgment) -> dict[str, Any]:
        """A label has the verdicts in the claims' order ("keep, drop") or is JSON, {number: verdict
        or {"verdict", "text"}}.
        """
        label = judgment.label
        try:
            verdicts = json.loads(label) if label.lstrip().startswith("{") else label.split(",")
        except (ValueError, RecursionError):
            raise DomainError(_("“%s” is no JSON") % label[:60]) from None
        if isinstance(verdicts, list):
            verdicts = {str(n): verdict.strip() for n, verdict in enumerate(verdicts, start=1)}
        return _body(verdicts, judgment.gold)

    def released_claims(self, released: ReleasedAnswer) -> dict[int, str]:
        parts = released.answer.items() if isinstance(released.answer, dict) else ()
        return {
            int(number): str(part["claim"])
            for number, part in parts
            if number.isdecimal() and isinstance(part, dict) and part.get("claim")
        }

    def released_body(self, released: ReleasedAnswer) -> dict[str, Any]:
        return _body(released.parts, released.gold)

    def plan(self, study: Study, task: TaskDefinition, scope: Scope = EVERYTHING) -> Iterator[dict]:
        return planning.gold_responses(study, task, scope)

    def labels(self, config: Config) -> list[str]:
        return list(Verdict.values)

    def expected(self, value: Any, row: dict, config: Config) -> dict[str, str]:
        raise DomainError("a check of claims cannot come with a bundle")

    def fields_sent(self, data: Data, held: Held) -> Data:
        """A form has ``claim-ID`` and ``text-ID``."""
        if "claims" in data:
            return data
        claims = [name.removeprefix("claim-") for name in data if name.startswith("claim-")]
        return {
            "claims": {
                claim: {"verdict": data[f"claim-{claim}"], "text": data.get(f"text-{claim}")}
                for claim in claims
            }
        }

    def answer(self, sent: ClaimsBody, held: Held) -> Answer:
        claims = GoldClaim.objects.filter(response=held.gold).order_by("number")
        parts = []
        for n, claim in enumerate(claims.values_list("pk", flat=True), start=1):
            part = ClaimBody.read(body.entry(sent.claims, str(claim)), held, n=n)
            parts.append(Part(claim, part.verdict, part.text))
        return Answer(tuple(parts))

    def rows(self, answer: Answer) -> list[models.Answer]:
        return [
            models.Answer(question=self.PRIMARY, part=part.pk, label=part.verdict, text=part.text)
            for part in answer.parts
        ]

    def typed(self, answer: Answer, shown: Ordered) -> dict[str, list[str]]:
        fields = {}
        for part in answer.parts:
            fields |= {f"claim-{part.pk}": [part.verdict], f"text-{part.pk}": [part.text]}
        return fields

    def filled(self, shown: Shown, typed: QueryDict) -> QueryDict:
        """Drop every claim with words that the response does not have."""
        typed = typed.copy()
        for claim in shown.claims:
            if scenarios.missing_words(claim["text"], shown.gold or ""):
                typed[f"claim-{claim['id']}"] = Verdict.DROP
        return typed

    def context(self, shown: Shown, typed: Data) -> dict[str, Any]:
        response = shown.gold or ""
        claims = [
            {
                "id": claim["id"],
                "text": claim["text"],
                "missing": scenarios.missing_words(claim["text"], response),
                "verdict": typed.get(f"claim-{claim['id']}", ""),
                "new": typed.get(f"text-{claim['id']}") or claim["text"],
            }
            for claim in shown.claims
        ]
        ungrounded = sum(1 for claim in claims if claim["missing"])
        return {"claims": claims, "verdicts": Verdict.choices, "ungrounded": ungrounded}

    def of_rows(self, rows: Sequence[models.Answer]) -> Answer:
        return _answer(rows, GoldClaim.objects.in_bulk({row.part for row in rows}))

    def answers(self, judgments: Collection[int]) -> dict[int, Answer]:
        rows = list(models.Answer.objects.filter(sql.among("judgment", judgments)))
        claims = GoldClaim.objects.in_bulk({row.part for row in rows})
        by_judgment = defaultdict(list)
        for row in rows:
            by_judgment[row.judgment_id].append(row)
        return {pk: _answer(by_judgment[pk], claims) for pk in judgments}

    def of_label(self, label: dict[str, str]) -> Answer:
        # Keys of a JSON column come back in another order.
        pairs = sorted(label.items(), key=lambda pair: int(pair[0]))
        return Answer(tuple(Part(int(claim), verdict) for claim, verdict in pairs))

    def label_words(self, label: str, config: Config) -> str:
        return str(Verdict(label).label)

    def words(self, answer: Answer, config: Config) -> list[str]:
        return [
            f"{_name(n)}: {Verdict(part.verdict).label}"
            for n, part in enumerate(answer.parts, start=1)
        ]

    def remarks(self, answer: Answer, config: Config) -> list[str]:
        parts = enumerate(answer.parts, start=1)
        return [f"{_name(n)}: {part.text}" for n, part in parts if part.text]

    def fields(self, item: Item, config: Config) -> list[base.Field]:
        claims = item.gold.claims.order_by("number") if item.gold else []
        choices = self.label_choices(config)
        return [
            base.Field(str(claim.pk), _name(n), choices) for n, claim in enumerate(claims, start=1)
        ]

    def label_json(self, label: dict[str, str], ids: dict[int, str], config: Config) -> dict:
        """{the claim's number: verdict}."""
        numbers = dict(GoldClaim.objects.filter(pk__in=label).values_list("pk", "number"))
        return {str(numbers[int(claim)]): verdict for claim, verdict in label.items()}

    def answer_json(self, answer: Answer, ids: dict[int, str], config: Config) -> dict:
        """{the claim's number: {"claim", "verdict", "text"}}."""
        return {
            str(part.number): {"claim": part.claim, "verdict": part.verdict, "text": part.text}
            for part in answer.parts
        }


def _answer(rows: Sequence[models.Answer], claims: dict[int, GoldClaim]) -> Answer:
    parts = [(claims[cast(int, row.part)], row) for row in rows]
    parts.sort(key=lambda pair: pair[0].number)
    return Answer(
        tuple(Part(claim.pk, row.label, row.text, claim.number, claim.text) for claim, row in parts)
    )


def reviews() -> models.JudgmentQuerySet:
    """The judgments that decide on claims."""
    return models.Judgment.objects.filter(slot__item__batch__task__kind=ClaimsKind.CODE)


def accepted(review: models.Judgment) -> list[str]:
    """The claims that a review accepts, as edited: the gold information."""
    return ClaimsKind().answer_of(review).accepted


def _body(verdicts: dict, gold: int | None) -> dict[str, Any]:
    """The API's body of verdicts by their claims' numbers; DomainError for one of no claim."""
    claims = GoldClaim.objects.filter(response=gold).values_list("number", "pk")
    ids = {str(number): str(pk) for number, pk in claims}
    if unknown := sorted(verdicts.keys() - ids.keys()):
        raise DomainError(_("there is no claim %s") % unknown[0][:60])
    return {
        "claims": {
            ids[number]: {"verdict": verdict} if isinstance(verdict, str) else verdict
            for number, verdict in verdicts.items()
        }
    }


def _name(n: int) -> str:
    return _("Claim %(n)d") % {"n": n}
