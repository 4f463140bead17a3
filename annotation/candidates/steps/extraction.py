"""Attributes of people: extracted from their conversations, and looked at once more."""

import re
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Extraction, Proposal
from annotation.candidates.steps.base import (
    REASONS,
    Ask,
    Options,
    Plan,
    Result,
    Step,
    UnfitError,
    numbered,
    persona_of,
    record,
    text,
)
from annotation.core.embed import embed
from annotation.core.errors import Conflict, DomainError
from annotation.core.records import chunks
from annotation.histories import consent
from annotation.histories.models import HistoryConsent
from annotation.personas.models import Conversation
from annotation.studies.models import Study

MOST = 12
# Characters of a turn and of all turns that a call shows.
TURN_CHARACTERS, CALL_CHARACTERS = 2_000, 24_000
Verdict = Extraction.Verdict

EVIDENCE = record(turn={"type": "integer"}, quote=text(600))
STATEMENT = record(
    text=text(300),
    confidence={"type": "number", "minimum": 0, "maximum": 1},
    evidence={"type": "array", "items": EVIDENCE, "minItems": 1, "maxItems": 6},
)


def _turns(proposal: Proposal, ids: list[int]) -> list[tuple[int, int, dict]]:
    """(conversation, place, turn) of what may be sent and fits into a call; CallFailed for none."""
    chats = Conversation.objects.filter(study=proposal.study_id, pk__in=ids).order_by("pk")
    turns, room, withheld = [], CALL_CHARACTERS, False
    for chat in chats.select_related("session__owner"):
        if chat.session and not _allowed(chat.session.owner, proposal):
            withheld = True
            continue
        for place, turn in enumerate(chat.messages):
            room -= min(len(turn["text"]), TURN_CHARACTERS)
            if room < 0:
                return turns
            turns.append((chat.pk, place, turn))
    if not turns:
        raise CallFailed("no_consent" if withheld else "no_source")
    return turns


def _allowed(owner: User, proposal: Proposal) -> bool:
    purpose = HistoryConsent.Purpose.SEND
    return consent.allows(owner, proposal.study, purpose, proposal.endpoint)


def _shown(turns: list[tuple[int, int, dict]]) -> str:
    return "\n".join(
        f"[{number}] {turn['role']}: {turn['text'][:TURN_CHARACTERS]}"
        for number, (_chat, _place, turn) in enumerate(turns, start=1)
    )


def span_of(turns: list[tuple[int, int, dict]], part: dict) -> dict | None:
    """Where a quote stands: ``{"conversation", "turn", "start", "end"}``; None for no such turn.

    Blanks, case and marks around a quote may differ. A quote that is not in its turn, as models
    give at times, is sought in the other turns; where none has it, the whole turn is the evidence.
    """
    number = part["turn"]
    if not 1 <= number <= len(turns):
        return None
    words = re.findall(r"\w+", part["quote"])
    pattern = re.compile(r"\W+".join(map(re.escape, words)), re.I) if words else None
    named = turns[number - 1]
    others = [turn for turn in turns if turn is not named]
    for chat, place, turn in [named, *others]:
        if pattern and (match := pattern.search(turn["text"])):
            start, end = match.span()
            return {"conversation": chat, "turn": place, "start": start, "end": end}
    chat, place, turn = named
    return {"conversation": chat, "turn": place, "start": 0, "end": len(turn["text"])}


CHECKED = record(
    number={"type": "integer"},
    verdict={"type": "string", "enum": ["supported", "refine", "unsupported"]},
    text=text(300, 0),
)


class Extract(Step):
    """Conversations that this endpoint was asked about are left out, unless that failed."""

    name = "attribute"
    label = gettext_lazy("Attributes from conversations")
    options = ("chats", "language")
    reasons = {"unfounded": gettext_lazy("the conversations do not show it"), **REASONS}
    flags = {"unfounded": gettext_lazy("a statement without evidence was left out")}
    reviewed = False

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        rows = Conversation.objects.filter(study=study, persona__dropped_at=None)
        rows = rows.exclude(persona=None).select_related("persona").order_by("persona", "pk")
        people: dict = {}
        for row in rows.defer("messages", "embedding"):
            people.setdefault(row.persona, []).append(row.pk)
        if not people:
            raise DomainError(
                _("Take people from the pool of conversations first."), code="no_chats"
            )
        asked = self.asked(study).filter(endpoint=endpoint).values_list("input__chats", flat=True)
        asked_before = {pk for chats in asked for pk in chats}
        for persona, ids in people.items():
            for some in chunks([pk for pk in ids if pk not in asked_before], options.chats):
                yield persona, {"chats": some, "language": options.language}

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        turns = _turns(proposal, proposal.input["chats"])
        answer = self.said(
            proposal,
            ask,
            record(attributes={"type": "array", "items": STATEMENT, "maxItems": MOST}),
            most=str(MOST),
            language=proposal.input["language"],
            turns=_shown(turns),
        )
        statements, unfounded = [], 0
        for statement in answer["attributes"]:
            spans = [span for part in statement["evidence"] if (span := span_of(turns, part))]
            if spans:
                statements.append({**statement, "evidence": spans})
            else:
                unfounded += 1
        output = {"attributes": statements, "unfounded": unfounded}
        flags = ["unfounded"] if unfounded else []
        shown = "\n".join(f"{row['text']} ({row['confidence']:.2f})" for row in statements)
        return Result(output, shown or _("(nothing)"), flags)

    def store(self, proposal: Proposal, result: Result) -> None:
        statements, persona = result.output["attributes"], persona_of(proposal)
        vectors = embed([statement["text"] for statement in statements])
        Extraction.objects.bulk_create(
            Extraction(
                proposal=proposal, persona=persona, number=number, embedding=vector, **statement
            )
            for number, (statement, vector) in enumerate(
                zip(statements, vectors, strict=True), start=1
            )
        )

    def undo(self, proposal: Proposal, by: User) -> None:
        if Extraction.objects.filter(proposal=proposal, attribute__items__isnull=False).exists():
            raise Conflict(_("People judge one of these attributes already."), code="used")


class Verify(Step):
    """Extractions that nobody looked at again, a call each."""

    name = "verify"
    label = gettext_lazy("Verify and refine attributes")
    options = ("language",)
    reviewed = False

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        rows = Proposal.objects.filter(study=study, step="attribute", status="done")
        rows = rows.filter(extractions__verdict="").exclude(review="rejected").distinct()
        asked = set(self.asked(study).values_list("input__proposal", flat=True))
        for row in rows.select_related("persona").order_by("pk"):
            if str(row.pk) not in asked:
                yield row.persona, {"proposal": str(row.pk), "language": options.language}

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        first = Proposal.objects.filter(
            study=proposal.study_id, pk=proposal.input["proposal"]
        ).first()
        # A trained verifier may have decided on the others.
        statements = list(first.extractions.filter(verdict="").order_by("number")) if first else []
        if not statements:
            raise CallFailed("no_source")
        answer = self.said(
            proposal,
            ask,
            record(attributes={"type": "array", "items": CHECKED, "maxItems": 2 * MOST}),
            language=proposal.input["language"],
            turns=_shown(_turns(proposal, cast(Proposal, first).input["chats"])),
            attributes=numbered([statement.text for statement in statements]),
        )
        checked = {}
        for statement in answer["attributes"]:
            if 1 <= statement["number"] <= len(statements):
                checked[str(statements[statement["number"] - 1].pk)] = statement
        if len(checked) < len(statements):
            raise UnfitError("an attribute was not checked")
        names = [f"{statement['verdict']}: {statement['text']}" for statement in checked.values()]
        return Result({"checked": checked}, "\n".join(names))

    def store(self, proposal: Proposal, result: Result) -> None:
        checked = result.output["checked"]
        rows = list(Extraction.objects.filter(pk__in=checked).order_by("pk"))
        for row in rows:
            statement = checked[str(row.pk)]
            better = statement["text"].strip() if statement["verdict"] == "refine" else ""
            row.refined = better
            row.verdict = Verdict.REFINED if better else Verdict.SUPPORTED
            if statement["verdict"] == "unsupported":
                row.verdict = Verdict.UNSUPPORTED
        for row, vector in zip(rows, embed([row.wording for row in rows]), strict=True):
            row.embedding = vector
        Extraction.objects.bulk_update(rows, ["refined", "verdict", "embedding"])
