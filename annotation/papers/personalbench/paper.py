from pathlib import Path

from annotation.datasets.papers import Card, Paper
from annotation.papers.personalbench import judge, layout, reader, report, units
from annotation.papers.personalbench.strategies import STRATEGIES

PAPER = Paper(
    name="personalbench",
    title="Re-Centering Humans in LLM Personalization",
    kinds=("attribute", "relevance", "preference"),
    needs="judgments of attributes, of their relevance, or preferences",
    layout=layout,
    reader=reader.PersonalBench,
    tables=tuple(layout.COLUMNS),
    recipes=Path(__file__).parent / "recipes",
    judge=judge,
    report=report,
    units=units,
    strategies=STRATEGIES,
    card=Card(
        about="Verdicts on attributes of people, on whether an attribute matters to a prompt, and "
        "ratings of a generic against a personalised answer, the highest for the personalised "
        "one. Every rating stands beside its aggregate; `votes.csv` has them as they were given.",
        limits=("An explicit mention is found by words: a paraphrase is missed.",),
    ),
)
