"""Personas from seeds, their memories from a collection, and what the memories show of them."""

import random
from collections import Counter

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.candidates.models import JUDGED, Proposal
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
from annotation.core.errors import Conflict, DomainError
from annotation.personas import curate
from annotation.personas import schema as profiles
from annotation.personas.models import Attribute, Memory, Persona
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
