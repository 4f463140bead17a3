"""Questions: specific ones from a persona's features, and general ones from a pool."""

import random
from collections import defaultdict
from datetime import date

import numpy as np
from django.forms.models import model_to_dict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.candidates import clean, wording
from annotation.candidates.models import Proposal
from annotation.candidates.steps.base import (
    REASONS,
    Ask,
    Options,
    Plan,
    Result,
    Step,
    persona_of,
    record,
    text,
    texts,
)
from annotation.core.embed import embed
from annotation.core.errors import Conflict, DomainError
from annotation.personas import schema as profiles
from annotation.personas.models import Attribute, held_on
from annotation.queries import author, scenarios
from annotation.queries.models import Example, Query
from annotation.studies.models import Study

DRAWN_FEATURES, DRAWN_SCENARIOS = 5, 5
# Drawn where the study has no pool of examples.
EXAMPLE = Example(
    text=(
        "I keep buying books and never get past page fifty. How do I find out what I would really "
        "enjoy reading in the evening?"
    )
)
UNNATURAL = (
    "As an introverted 34-year-old accountant who likes oolong, which lamp should I buy? -> Which "
    "lamp would be good to read by without lighting up the whole room?"
)
SCREEN = {
    "illogical": gettext_lazy("illogical"),
    "unnatural": gettext_lazy("unnatural"),
    "leaks": gettext_lazy("gives a trait away"),
    **REASONS,
}
FLAGS = {
    "leak": gettext_lazy("names a trait of the persona"),
    "rewritten": gettext_lazy("was rewritten"),
    "near-duplicate": gettext_lazy("similar to another"),
}


EXAMPLE_FIELDS = ("external_id", "person", "text", "memories")


def _shown(example: dict) -> str:
    """An example as a prompt shows it: what was known of the person, then the question."""
    memories = "".join(f"- {memory}\n" for memory in example["memories"])
    background = f"Known of that person:\n{memories}Their question:\n" if memories else ""
    return background + example["text"]


QUESTION = record(scenario=text(100), question=text(1_500, 8))
NATURAL = record(leaked=texts(8, 200), rewrite={"type": "boolean"}, question=text(1_500, 8))


class Question(Step):
    """What is accepted becomes a query of the persona."""

    prefix: str
    type: Query.Type

    def accept(self, proposal: Proposal, by: User) -> str:
        day = proposal.input.get("asked_on")
        query = author.save_query(
            proposal.study,
            f"{self.prefix}-{proposal.pk.hex[:12]}",
            by=by,
            persona_id=proposal.persona_id,
            text=proposal.output["question"],
            need="",
            type=self.type,
            scenario=proposal.output.get("scenario", ""),
            asked_on=date.fromisoformat(day) if day else None,
        )
        return query.external_id

    def undo(self, proposal: Proposal, by: User) -> None:
        """Delete the query, which nothing may have answered."""
        rows = proposal.study.queries.filter(external_id=proposal.made, replaced_at=None)
        query = rows.first()
        if query and author.frozen(query):
            raise Conflict(_("The question has answers already."), code="used")
        if query:
            query.delete()


class Specific(Question):
    """A question from some of a persona's features in one of some scenarios."""

    name = "question"
    prefix, type = "s", Query.Type.SPECIFIC
    label = gettext_lazy("Specific questions")
    options = ("per_persona", "language", "asked_on")
    reasons = SCREEN
    flags = FLAGS
    calls = 2

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        chance = random.Random(1)  # noqa: S311 - no secret
        people = study.personas.filter(dropped_at=None).order_by("pk")
        features = defaultdict(list)
        rows = Attribute.objects.filter(held_on(options.asked_on), persona__in=people)
        for owner, statement in rows.order_by("pk").values_list("persona_id", "text"):
            features[owner].append(statement)
        if not features:
            raise DomainError(
                _("Infer features from the personas' memories first."), code="no_features"
            )
        examples = list(study.examples.order_by("pk")) or [EXAMPLE]
        day = options.asked_on and options.asked_on.isoformat()
        for persona in people:
            there = features.get(persona.pk, [])
            for _question in range(options.per_persona if there else 0):
                drawn = {
                    "features": chance.sample(there, min(DRAWN_FEATURES, len(there))),
                    "scenarios": scenarios.sample(chance, DRAWN_SCENARIOS),
                    "example": model_to_dict(chance.choice(examples), EXAMPLE_FIELDS),
                    "language": options.language,
                }
                yield persona, drawn | ({"asked_on": day} if day else {})

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        drawn, profile = proposal.input, persona_of(proposal).current.profile
        first = self.said(
            proposal,
            ask,
            QUESTION,
            language=drawn["language"],
            features="\n".join(f"- {feature}" for feature in drawn["features"]),
            scenarios="\n".join(f"- {scenario}" for scenario in drawn["scenarios"]),
            example=_shown(drawn["example"]),
        )
        named = clean.named(first["question"], profile)
        prompt = wording.of(proposal.study, "natural").prompt(
            persona=profiles.as_text(profiles.core_fields(profile)),
            example=UNNATURAL,
            question=first["question"],
        )
        screened = ask("natural", prompt, NATURAL)
        rewritten = screened["rewrite"] or bool(named)
        question = screened["question"] if rewritten else first["question"]
        output = {
            "question": question,
            "scenario": first["scenario"] if first["scenario"] in drawn["scenarios"] else "",
            "original": first["question"],
            "leaked": sorted({*named, *screened["leaked"]}),
        }
        flags = ["rewritten"] if question != first["question"] else []
        if clean.named(question, profile):
            flags.append("leak")
        return Result(output, question, flags)


class Pool(Step):
    """Questions of other lengths are left out."""

    name = "general"
    label = gettext_lazy("General questions: filter a pool")
    options = ("texts", "least", "most")
    reasons = {
        "factual": gettext_lazy("factual, not subjective"),
        "closed": gettext_lazy("has one correct answer"),
        **SCREEN,
    }
    flags = {
        "subjective": gettext_lazy("not subjective"),
        "open_ended": gettext_lazy("not open-ended"),
        "understandable": gettext_lazy("not understandable alone"),
        **FLAGS,
    }

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        if not options.texts:
            raise DomainError(_("Give a pool of questions, one a line."), code="no_texts")
        asked = Proposal.objects.filter(study=study, step=self.name)
        present = set(asked.values_list("input__question", flat=True))
        for question in dict.fromkeys(line.strip() for line in options.texts):
            fits = options.least <= clean.count_words(question) <= options.most
            if fits and question not in present:
                yield None, {"question": question}

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        question, flag = proposal.input["question"], {"type": "boolean"}
        schema = record(subjective=flag, open_ended=flag, understandable=flag)
        verdict = self.said(proposal, ask, schema, question=question)
        flags = [name for name, good in verdict.items() if not good]
        return Result({"question": question, **verdict}, question, flags)

    def accept(self, proposal: Proposal, by: User) -> str:
        return "pool"  # it is matched to personas by the next step


class Match(Question):
    """The accepted questions of the pool nearest to each persona."""

    name = "match"
    prefix, type = "g", Query.Type.GENERAL
    label = gettext_lazy("General questions: match to personas")
    options = ("per_persona",)
    reasons = {"misfit": gettext_lazy("does not fit the persona"), **SCREEN}
    flags = {"misfit": gettext_lazy("the model finds that it does not fit"), **FLAGS}

    def plan(self, study: Study, options: Options, endpoint: str) -> Plan:
        accepted = Proposal.objects.filter(study=study, step="general", review="accepted")
        pool = list(accepted.values_list("pk", "text"))
        people = list(study.personas.filter(dropped_at=None).order_by("pk"))
        if not pool or not people:
            raise DomainError(
                _("Accept questions of the general pool first, and personas."), code="no_pool"
            )
        profiles_of = [profiles.as_text(person.current.profile) for person in people]
        near = embed(profiles_of) @ embed([question for _pk, question in pool]).T
        asked = Proposal.objects.filter(study=study, step=self.name)
        tried = set(asked.values_list("persona", "input__pool"))
        for persona, row in zip(people, near, strict=True):
            for place in np.argsort(-row)[: options.per_persona]:
                key, question = pool[place]
                if (persona.pk, str(key)) not in tried:
                    yield persona, {"pool": str(key), "question": question}

    def write(self, proposal: Proposal, ask: Ask) -> Result:
        question = proposal.input["question"]
        verdict = self.said(
            proposal,
            ask,
            record(fits={"type": "boolean"}, why=text(400, 0)),
            persona=profiles.as_text(persona_of(proposal).current.profile),
            question=question,
        )
        flags = [] if verdict["fits"] else ["misfit"]
        return Result({"question": question, **verdict}, question, flags)
