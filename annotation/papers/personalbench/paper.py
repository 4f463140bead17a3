"""The paper, and how the paper has an answer personalised: from an attribute of the person."""

from pathlib import Path

from django.utils.translation import gettext_lazy as _

from annotation.candidates import strategies
from annotation.candidates.strategies import FROM_ATTRIBUTES, Ask, Brief, Draft, Strategy
from annotation.datasets.papers import Card, Paper
from annotation.papers.personalbench import judge, layout, report


def _from_attributes(brief: Brief, ask: Ask) -> Draft:
    about = "\n".join(f"- {statement}" for statement in brief.attributes)
    prompt = strategies.personal_answer(brief.question, about, manner=brief.manner)
    return Draft(prompt, {"attributes": list(brief.attributes)})


STRATEGIES = {
    FROM_ATTRIBUTES: Strategy(
        _from_attributes,
        words=_("attributes: from the persona's attributes"),
        place=4,
        needs_persona=True,
        needs_attributes=True,
    )
}

PAPER = Paper(
    name="personalbench",
    title="Re-Centering Humans in LLM Personalization",
    kinds=("attribute", "relevance", "preference"),
    persons=True,
    needs="judgments of attributes, of their relevance, or preferences",
    layout=layout,
    reader=layout.PersonalBench,
    tables=tuple(layout.COLUMNS),
    recipes=Path(__file__).parent / "recipes",
    judge=judge,
    report=report,
    units=report,
    strategies=STRATEGIES,
    card=Card(
        about="Verdicts on attributes of people, on whether an attribute matters to a prompt, and "
        "ratings of a generic against a personalised answer, the highest for the personalised "
        "one. Every rating stands beside its aggregate; `votes.csv` has them as they were given.",
        limits=("An explicit mention is found by words: a paraphrase is missed.",),
    ),
)
