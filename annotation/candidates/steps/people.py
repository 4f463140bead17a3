"""What is known of people: personas from seeds, their memories and what these show; attributes that
are extracted from conversations, and looked at once more.
"""

import random
import re
from collections import Counter
from typing import cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.candidates.endpoints import CallFailed
from annotation.candidates.models import JUDGED, Extraction, Proposal
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
    texts,
)
from annotation.core.embed import embed
from annotation.core.errors import Conflict, DomainError
from annotation.core.records import chunks
from annotation.histories import consent
from annotation.histories.models import HistoryConsent
from annotation.personas import curate
from annotation.personas import schema as profiles
from annotation.personas.models import Attribute, Conversation, Memory, Persona
from annotation.studies.models import Study

SHOWN = 12
SHOWN_TEXTS, TEXT_CHARACTERS = 30, 400
MOST_FEATURES = 8


def _either(*values: str) -> dict:
    return {"type": "string", "enum": list(values)}


PERSONA = record(
    Name=text(100),
    Demographics=record(
        Age=text(20),
        Gender=text(40),
        Nationality=text(60),
        Language=texts(6, 40),
        Career_Information=text(400),
    ),
    Personality=record(
        Extraversion_or_Introversion=_either("E", "I"),
        Sensing_or_Intuition=_either("S", "N"),
        Thinking_or_Feeling=_either("T", "F"),
        Judging_or_Perceiving=_either("J", "P"),
        Values_and_Interests=texts(8, 200),
    ),
    Preference=record(
        Local_Life=record(
            Food_Drinks=text(500), Entertainment_Shopping=text(500), Daily_Outings=text(500)
        ),
        Travel=record(Business_Trips=text(500), Leisure_Travel=text(500)),
        Social=text(500),
        Productivity=record(Study_Work=text(500), Fitness=text(500)),
        Content_Interests=texts(8, 200),
    ),
)


def _present(proposal: Proposal) -> str:
    """Who was written last, in a line each: so that a model does not write the same again."""
    written = Proposal.objects.filter(study=proposal.study_id, step="persona", status="done")
    names = Counter(
        f"{output['Name']}, {output['Demographics']['Career_Information'][:60]}"
        for output in written.order_by("-answered_at").values_list("output", flat=True)[:SHOWN]
    )
    return "\n".join(names) or "(nobody)"


FEATURE = record(
    text=text(300),
    evidence={"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 10},
)


class Personas(Step):
    """Each kept persona may be a seed."""

    name = "persona"
    label = gettext_lazy("Personas from seeds")
    options = ("count", "languages", "hints", "constraints")
    reasons = curate.REASONS | REASONS

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        seeds = list(study.personas.filter(dropped_at=None).order_by("pk"))
        if not seeds:
            raise DomainError(
                _("Import or write at least one persona as a seed first."), code="no_seeds"
            )
        languages, hints = options.languages or ["English"], options.hints
        chance = random.Random(1)  # noqa: S311 - no secret
        for number in range(options.count):
            drawn = {
                "seed": chance.choice(seeds).pk,
                "hint": "; ".join(chance.sample(hints, min(2, len(hints)))),
                "language": languages[number % len(languages)],
                "constraints": options.constraints,
            }
            yield None, drawn

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        drawn = proposal.input
        seed = Persona.objects.filter(study=proposal.study_id, pk=drawn["seed"]).first()
        if seed is None:
            raise UnfitError("no seed")
        constraints = f"Also: {drawn['constraints']}" if drawn["constraints"] else ""
        profile = self.said(
            proposal,
            ask,
            PERSONA,
            language=drawn["language"],
            constraints=constraints,
            seed=profiles.as_text(seed.current.profile),
            hint=drawn["hint"] or "(none)",
            present=_present(proposal),
        )
        return Result(profile, profiles.as_text(profile))

    def accept(self, proposal: Proposal, by: User) -> str:
        key = f"g-{proposal.pk.hex[:12]}"
        curate.save_profile(proposal.study, key, proposal.output, by=by)
        return key

    def undo(self, proposal: Proposal, by: User) -> None:
        persona = Persona.objects.filter(
            study=proposal.study_id, external_id=proposal.made, dropped_at=None
        ).first()
        if persona is None:
            return
        users = (persona.queries, persona.proposals, persona.memories, persona.attributes)
        if persona.split or any(rows.exists() for rows in users):
            raise Conflict(
                _("The persona is in use already: drop it on its own page."), code="used"
            )
        persona.delete()


class Memories(Step):
    """Each call shows a sample of the texts."""

    name = "memory"
    label = gettext_lazy("Memories from a collection")
    options = ("texts", "per_persona")
    reasons = {"unfitting": gettext_lazy("does not fit the persona"), **REASONS}

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        if not options.texts:
            raise DomainError(_("Give a collection of texts to choose from."), code="no_texts")
        chance = random.Random(1)  # noqa: S311 - no secret
        for persona in study.personas.filter(dropped_at=None).order_by("pk"):
            for _call in range(options.per_persona):
                size = min(SHOWN_TEXTS, len(options.texts))
                yield persona, {"texts": chance.sample(options.texts, size)}

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        shown = proposal.input["texts"]
        numbers = {"type": "array", "items": {"type": "integer"}, "maxItems": SHOWN_TEXTS}
        chosen = self.said(
            proposal,
            ask,
            record(numbers=numbers),
            persona=profiles.as_text(persona_of(proposal).current.profile),
            texts=numbered([text[:TEXT_CHARACTERS] for text in shown]),
        )
        picked = [shown[n - 1] for n in sorted(set(chosen["numbers"])) if 1 <= n <= len(shown)]
        return Result({"texts": picked}, "\n".join(picked))

    def accept(self, proposal: Proposal, by: User) -> str:
        person = persona_of(proposal)
        memories = [curate.remember(person, text, by=by) for text in proposal.output["texts"]]
        # Texts that the persona had already stay where the decision is taken back.
        output = proposal.output | {"memories": [memory.pk for memory, made in memories if made]}
        Proposal.objects.filter(pk=proposal.pk).update(output=output)
        return ""

    def undo(self, proposal: Proposal, by: User) -> None:
        made = proposal.output.get("memories", [])
        Memory.objects.filter(persona=proposal.persona, pk__in=made).delete()


class Features(Step):
    """Each call shows a sample of the memories."""

    name = "feature"
    label = gettext_lazy("Features from memories")
    options = ("size", "per_persona", "language")
    reasons = {
        "overgeneralised": gettext_lazy("overgeneralised"),
        "no-evidence": gettext_lazy("the evidence does not show it"),
        "task": gettext_lazy("a task taken for a trait"),
        "not-standalone": gettext_lazy("cannot be understood alone"),
        **REASONS,
    }

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        chance = random.Random(1)  # noqa: S311 - no secret
        people = study.personas.filter(dropped_at=None, memories__isnull=False).distinct()
        for persona in people.order_by("pk"):
            memories = list(persona.memories.order_by("pk").values_list("pk", flat=True))
            for _sample in range(options.per_persona):
                drawn = chance.sample(memories, min(options.size, len(memories)))
                yield persona, {"memories": drawn, "language": options.language}

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        memories = Memory.objects.in_bulk(proposal.input["memories"])
        shown = [memories[pk] for pk in proposal.input["memories"] if pk in memories]
        if not shown:
            raise UnfitError("no memories")
        answer = self.said(
            proposal,
            ask,
            record(features={"type": "array", "items": FEATURE, "maxItems": MOST_FEATURES}),
            most=str(MOST_FEATURES),
            language=proposal.input["language"],
            texts=numbered([feature.text[:TEXT_CHARACTERS] for feature in shown]),
        )
        features = []
        for feature in answer["features"]:
            evidence = sorted({n for n in feature["evidence"] if 1 <= n <= len(shown)})
            if evidence:  # without any there is nothing to show for it
                ids = [shown[n - 1].pk for n in evidence]
                features.append({"text": feature["text"], "evidence": ids})
        if not features:
            raise UnfitError("no feature with evidence")
        return Result({"features": features}, "\n".join(feature["text"] for feature in features))

    def accept(self, proposal: Proposal, by: User) -> str:
        texts_of = dict(Memory.objects.filter(persona=proposal.persona).values_list("pk", "text"))
        records = [
            {
                "id": f"f-{proposal.pk.hex[:12]}-{number}",
                "persona": persona_of(proposal).external_id,
                "text": feature["text"],
                "confidence": None,
                "model": proposal.model,
                "conversations": [
                    [{"role": "user", "text": texts_of[pk]}]
                    for pk in feature["evidence"]
                    if pk in texts_of
                ],
            }
            for number, feature in enumerate(proposal.output["features"], start=1)
        ]
        curate.save_attributes(proposal.study, records, by=by)
        return f"f-{proposal.pk.hex[:12]}"

    def undo(self, proposal: Proposal, by: User) -> None:
        rows = Attribute.objects.filter(
            persona=proposal.persona, external_id__startswith=f"{proposal.made}-"
        )
        if proposal.made and rows.filter(JUDGED).exists():
            raise Conflict(_("People judge one of these features already."), code="used")
        rows.delete()


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
    turns, room, withheld, purpose = [], CALL_CHARACTERS, False, HistoryConsent.Purpose.SEND
    for chat in chats.select_related("session__owner"):
        if chat.session and not consent.allows(
            chat.session.owner, proposal.study, purpose, proposal.endpoint
        ):
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
        checked = {
            str(statements[statement["number"] - 1].pk): statement
            for statement in answer["attributes"]
            if 1 <= statement["number"] <= len(statements)
        }
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
