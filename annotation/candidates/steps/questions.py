"""Questions: specific ones from a persona's features, and general ones from a pool."""

import random
from collections.abc import Iterator

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotation.accounts.models import User
from annotation.candidates import clean, wording
from annotation.candidates.models import Proposal
from annotation.candidates.steps.base import (
    REASONS,
    Ask,
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
from annotation.personas.models import Attribute, Persona
from annotation.queries import author, scenarios
from annotation.queries.models import Query
from annotation.studies.models import Study

DRAWN_FEATURES, DRAWN_SCENARIOS = 5, 5
EXAMPLE = (
    "I keep buying books and never get past page fifty. How do I find out what I would really "
    "enjoy reading in the evening?"
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


def _plan_specific(study: Study, options: dict) -> Iterator[tuple[Persona | None, dict]]:
    """``options``: per_persona, language, examples (good questions of real people, a draw each)."""
    chance = random.Random(1)  # noqa: S311 - no secret
    people = study.personas.filter(dropped_at=None).order_by("pk")
    features = {}
    rows = Attribute.objects.filter(persona__in=people).order_by("pk")
    for owner, statement in rows.values_list("persona_id", "text"):
        features.setdefault(owner, []).append(statement)
    if not features:
        raise DomainError(
            _("Infer features from the personas' memories first."), code="no_features"
        )
    examples = options.get("examples") or [EXAMPLE]
    for persona in people:
        there = features.get(persona.pk, [])
        for _question in range(options.get("per_persona", 1) if there else 0):
            yield (
                persona,
                {
                    "features": chance.sample(there, min(DRAWN_FEATURES, len(there))),
                    "scenarios": scenarios.sample(chance, DRAWN_SCENARIOS),
                    "example": chance.choice(examples),
                    "language": options.get("language", "English"),
                },
            )


QUESTION = record(scenario=text(100), question=text(1_500, 8))
NATURAL = record(leaked=texts(8, 200), rewrite={"type": "boolean"}, question=text(1_500, 8))


def _write_specific(proposal: Proposal, ask: Ask) -> Result:
    drawn, profile = proposal.input, persona_of(proposal).current.profile
    prompt = wording.of(proposal.study, "question").prompt(
        language=drawn["language"],
        features="\n".join(f"- {feature}" for feature in drawn["features"]),
        scenarios="\n".join(f"- {scenario}" for scenario in drawn["scenarios"]),
        example=drawn["example"],
    )
    first = ask("question", prompt, QUESTION)
    named = clean.named(first["question"], profile)
    prompt = wording.of(proposal.study, "natural").prompt(
        persona=profiles.as_text(profiles.core_fields(profile)),
        example=UNNATURAL,
        question=first["question"],
    )
    screened = ask("natural", prompt, NATURAL)
    rewritten = screened["rewrite"] or bool(named)
    question = screened["question"] if rewritten else first["question"]
    scenario = first["scenario"] if first["scenario"] in drawn["scenarios"] else ""
    output = {
        "question": question,
        "scenario": scenario,
        "original": first["question"],
        "leaked": sorted({*named, *screened["leaked"]}),
    }
    flags = ["rewritten"] if question != first["question"] else []
    if clean.named(question, profile):
        flags.append("leak")
    return Result(output, question, flags)


def _accept_question(proposal: Proposal, by: User) -> str:
    prefix = "s" if proposal.step == "question" else "g"
    key = f"{prefix}-{proposal.pk.hex[:12]}"
    kind = Query.Type.SPECIFIC if proposal.step == "question" else Query.Type.GENERAL
    author.save(
        proposal.study,
        key,
        by=by,
        persona_id=proposal.persona_id,
        text=proposal.output["question"],
        need="",
        type=kind,
        scenario=proposal.output.get("scenario", ""),
    )
    return key


def _undo_question(proposal: Proposal, by: User) -> None:
    query = Query.objects.filter(
        study=proposal.study_id, external_id=proposal.made, replaced_at=None
    ).first()
    if query is None:
        return
    if author.frozen(query):
        raise Conflict(_("The question has answers already."), code="used")
    query.delete()


def _plan_pool(study: Study, options: dict) -> Iterator[tuple[Persona | None, dict]]:
    """``options``: texts (questions), least and most words. Those of other lengths are left out."""
    pool = options.get("texts") or []
    if not pool:
        raise DomainError(_("Give a pool of questions, one a line."), code="no_texts")
    least, most = options.get("least", 4), options.get("most", 60)
    present = set(
        Proposal.objects.filter(study=study, step="general").values_list(
            "input__question", flat=True
        )
    )
    for question in dict.fromkeys(line.strip() for line in pool):
        if least <= clean.count_words(question) <= most and question not in present:
            yield None, {"question": question}


def _write_pool(proposal: Proposal, ask: Ask) -> Result:
    question = proposal.input["question"]
    prompt = wording.of(proposal.study, "general").prompt(question=question)
    flag = {"type": "boolean"}
    schema = record(subjective=flag, open_ended=flag, understandable=flag)
    verdict = ask("general", prompt, schema)
    flags = [name for name, good in verdict.items() if not good]
    return Result({"question": question, **verdict}, question, flags)


def _accept_pool(proposal: Proposal, by: User) -> str:
    return "pool"  # it is matched to personas by the next step


def _plan_match(study: Study, options: dict) -> Iterator[tuple[Persona | None, dict]]:
    """``options``: per_persona. The accepted questions of the pool nearest to each persona."""
    pool = list(
        Proposal.objects.filter(study=study, step="general", review="accepted").values_list(
            "pk", "text"
        )
    )
    people = list(study.personas.filter(dropped_at=None).order_by("pk"))
    if not pool or not people:
        raise DomainError(
            _("Accept questions of the general pool first, and personas."), code="no_pool"
        )
    near = (
        embed([profiles.as_text(person.current.profile) for person in people])
        @ embed([question for _pk, question in pool]).T
    )
    tried = set(
        Proposal.objects.filter(study=study, step="match").values_list("persona", "input__pool")
    )
    for persona, row in zip(people, near, strict=True):
        for place in np.argsort(-row)[: options.get("per_persona", 1)]:
            key, question = pool[place]
            if (persona.pk, str(key)) not in tried:
                yield persona, {"pool": str(key), "question": question}


def _write_match(proposal: Proposal, ask: Ask) -> Result:
    question = proposal.input["question"]
    prompt = wording.of(proposal.study, "match").prompt(
        persona=profiles.as_text(persona_of(proposal).current.profile), question=question
    )
    verdict = ask("match", prompt, record(fits={"type": "boolean"}, why=text(400, 0)))
    flags = [] if verdict["fits"] else ["misfit"]
    return Result({"question": question, **verdict}, question, flags)


SPECIFIC = Step(
    name="question",
    label=gettext_lazy("Specific questions"),
    plan=_plan_specific,
    write=_write_specific,
    accept=_accept_question,
    undo=_undo_question,
    reasons=SCREEN,
    flags=FLAGS,
    calls=2,
)
POOL = Step(
    name="general",
    label=gettext_lazy("General questions: filter a pool"),
    plan=_plan_pool,
    write=_write_pool,
    accept=_accept_pool,
    undo=lambda proposal, by: None,
    reasons={
        "factual": gettext_lazy("factual, not subjective"),
        "closed": gettext_lazy("has one correct answer"),
        **SCREEN,
    },
    flags={
        "subjective": gettext_lazy("not subjective"),
        "open_ended": gettext_lazy("not open-ended"),
        "understandable": gettext_lazy("not understandable alone"),
        **FLAGS,
    },
)
MATCH = Step(
    name="match",
    label=gettext_lazy("General questions: match to personas"),
    plan=_plan_match,
    write=_write_match,
    accept=_accept_question,
    undo=_undo_question,
    reasons={"misfit": gettext_lazy("does not fit the persona"), **SCREEN},
    flags={"misfit": gettext_lazy("the model finds that it does not fit"), **FLAGS},
)
