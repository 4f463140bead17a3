"""Attributes of people: extracted from their conversations, and looked at once more."""

import re
from collections.abc import Iterator
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.candidates import wording
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import Extraction, Proposal
from annotation.candidates.steps.base import (
    REASONS,
    Ask,
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
from annotation.histories import consent
from annotation.histories.models import HistoryConsent
from annotation.personas.models import Conversation, Persona
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


def _plan(study: Study, options: dict) -> Iterator[tuple[Persona | None, dict]]:
    """``options``: chats (conversations a call), language.

    Conversations that this endpoint was asked about are left out, unless that failed.
    """
    rows = Conversation.objects.filter(study=study, persona__dropped_at=None)
    rows = rows.filter(persona__isnull=False).order_by("persona", "pk").select_related("persona")
    people: dict = {}
    for row in rows.defer("messages", "embedding"):
        people.setdefault(row.persona, []).append(row.pk)
    if not people:
        raise DomainError(_("Take people from the pool of conversations first."), code="no_chats")
    earlier = Proposal.objects.filter(study=study, step="attribute", endpoint=options["endpoint"])
    earlier = earlier.exclude(status__in=("failed", "cancelled"))
    asked = {pk for drawn in earlier.values_list("input", flat=True) for pk in drawn["chats"]}
    size = options.get("chats", 1)
    for persona, ids in people.items():
        new = [pk for pk in ids if pk not in asked]
        for start in range(0, len(new), size):
            language = options.get("language", "English")
            yield persona, {"chats": new[start : start + size], "language": language}


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


def _write(proposal: Proposal, ask: Ask) -> Result:
    turns = _turns(proposal, proposal.input["chats"])
    prompt = wording.of(proposal.study, "attribute").prompt(
        most=str(MOST), language=proposal.input["language"], turns=_shown(turns)
    )
    schema = record(attributes={"type": "array", "items": STATEMENT, "maxItems": MOST})
    statements, unfounded = [], 0
    for statement in ask("attribute", prompt, schema)["attributes"]:
        spans = [span for part in statement["evidence"] if (span := span_of(turns, part))]
        if spans:
            statements.append({**statement, "evidence": spans})
        else:
            unfounded += 1
    output = {"attributes": statements, "unfounded": unfounded}
    flags = ["unfounded"] if unfounded else []
    shown = "\n".join(f"{row['text']} ({row['confidence']:.2f})" for row in statements)
    return Result(output, shown or _("(nothing)"), flags)


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


def _stored(proposal: Proposal, result: Result) -> None:
    statements = result.output["attributes"]
    vectors = embed([statement["text"] for statement in statements])
    Extraction.objects.bulk_create(
        Extraction(
            proposal=proposal,
            persona=persona_of(proposal),
            number=number,
            text=statement["text"],
            confidence=statement["confidence"],
            evidence=statement["evidence"],
            embedding=vector,
        )
        for number, (statement, vector) in enumerate(zip(statements, vectors, strict=True), start=1)
    )


def _undo(proposal: Proposal, by: User) -> None:
    if Extraction.objects.filter(proposal=proposal, attribute__items__isnull=False).exists():
        raise Conflict(_("People judge one of these attributes already."), code="used")


def _plan_verify(study: Study, options: dict) -> Iterator[tuple[Persona | None, dict]]:
    """Extractions that nobody looked at again, a call each."""
    rows = Proposal.objects.filter(study=study, step="attribute", status="done")
    rows = rows.filter(extractions__verdict="").exclude(review="rejected").distinct()
    earlier = Proposal.objects.filter(study=study, step="verify")
    earlier = earlier.exclude(status__in=("failed", "cancelled"))
    asked = set(earlier.values_list("input__proposal", flat=True))
    ordered = rows.select_related("persona").order_by("pk")
    for row in [row for row in ordered if str(row.pk) not in asked]:
        language = options.get("language", "English")
        yield row.persona, {"proposal": str(row.pk), "language": language}


CHECKED = record(
    number={"type": "integer"},
    verdict={"type": "string", "enum": ["supported", "refine", "unsupported"]},
    text=text(300, 0),
)


def _write_verify(proposal: Proposal, ask: Ask) -> Result:
    first = Proposal.objects.filter(study=proposal.study_id, pk=proposal.input["proposal"]).first()
    # A trained verifier may have decided on the others.
    statements = list(first.extractions.filter(verdict="").order_by("number")) if first else []
    if not statements:
        raise CallFailed("no_source")
    prompt = wording.of(proposal.study, "verify").prompt(
        language=proposal.input["language"],
        turns=_shown(_turns(proposal, cast(Proposal, first).input["chats"])),
        attributes=numbered([statement.text for statement in statements]),
    )
    schema = record(attributes={"type": "array", "items": CHECKED, "maxItems": 2 * MOST})
    checked = {}
    for statement in ask("verify", prompt, schema)["attributes"]:
        if 1 <= statement["number"] <= len(statements):
            checked[str(statements[statement["number"] - 1].pk)] = statement
    if len(checked) < len(statements):
        raise UnfitError("an attribute was not checked")
    names = [f"{statement['verdict']}: {statement['text']}" for statement in checked.values()]
    return Result({"checked": checked}, "\n".join(names))


def _stored_verify(proposal: Proposal, result: Result) -> None:
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


EXTRACT = Step(
    name="attribute",
    label=gettext_lazy("Attributes from conversations"),
    plan=_plan,
    write=_write,
    accept=lambda proposal, by: "",
    undo=_undo,
    reasons={"unfounded": gettext_lazy("the conversations do not show it"), **REASONS},
    flags={"unfounded": gettext_lazy("a statement without evidence was left out")},
    stored=_stored,
    reviewed=False,
)
VERIFY = Step(
    name="verify",
    label=gettext_lazy("Verify and refine attributes"),
    plan=_plan_verify,
    write=_write_verify,
    accept=lambda proposal, by: "",
    undo=lambda proposal, by: None,
    reasons=REASONS,
    stored=_stored_verify,
    reviewed=False,
)
