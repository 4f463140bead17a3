from pathlib import Path

from django.utils.translation import gettext_lazy

from annotation.datasets.papers import Card, Paper
from annotation.imports.recipes import Recipe
from annotation.papers.bespoke import judge, layout, reader, tables
from annotation.papers.bespoke.strategies import STRATEGIES

RECIPE = Recipe(
    gettext_lazy("BESPOKE queries"),
    {"prompt": ("query",), "id": (["user", "query-id"], ["user", "query_id"])},
    {"persona": ("user",), "need": ("gold_information_need",)},
)
PAPER = Paper(
    name="bespoke",
    title="BESPOKE: Benchmark for Search-Augmented Large Language Model Personalization via "
    "Diagnostic Feedback",
    kinds=("feedback",),
    needs="scored feedback by the owners of histories",
    layout=layout,
    store=reader.store,
    tables=(tables.QUERIES,),
    faults=tables.leaks,
    judge=judge,
    shots=True,
    recipes=Path(__file__).parent / "recipes",
    mappings={"bespoke": RECIPE},
    strategies=STRATEGIES,
    card=Card(
        about="Queries that people asked of their own accord, the need behind each, their scores "
        "and feedback on answers, the gold information they kept, rubrics, and as much of their "
        "histories as they agreed to publish. Users are pseudonyms of this release alone.",
        limits=("Each answer was judged by its asker alone: there is no agreement to report.",),
        remarks={
            "too_few_responses": "Too few responses, so all of them are shots",
            "rubric_left_out": "Rubric left out: it may be written from the responses that are "
            "tested",
            "without_rubric": "Tested without a rubric; its file is empty",
            "without_gold_information": "Tested without gold information; its file lists no claim",
        },
    ),
)
