from pathlib import Path

from django.utils.translation import gettext_lazy

from annotation.datasets.papers import Card, Paper
from annotation.evaluation import prompts
from annotation.imports.recipes import Recipe
from annotation.papers.personafeedback import layout, reader
from annotation.papers.personafeedback.strategies import STRATEGIES

RECIPE = Recipe(
    gettext_lazy("PersonaFeedback pairs"),
    {
        "persona": ("user_id",),
        "prompt": ("question",),
        "answer_a": ("chosen",),
        "answer_b": ("reject", "rejected"),
    },
    {"type": ("type",), "scenario": ("scenario",)},
)
PAPER = Paper(
    name="personafeedback",
    title="PersonaFeedback: A Large-scale Human-annotated Benchmark for Personalization",
    kinds=("selection",),
    layout=layout,
    reader=reader.PersonaFeedback,
    tables=reader.TABLES,
    settings=prompts.SETTINGS,
    recipes=Path(__file__).parent / "recipes",
    mappings={"personafeedback": RECIPE},
    strategies=STRATEGIES,
    card=Card(
        about="Pairs of answers to a question of one persona, in three tiers of difficulty. "
        "`user_id` is the line of the persona in `persona/all_personas.jsonl`, counted from 1. "
        "`votes.csv` has every vote."
    ),
)
