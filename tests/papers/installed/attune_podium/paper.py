from pathlib import Path

from annotation.datasets.papers import Card, Paper
from attune_podium import layout
from attune_podium.reader import Podium

PAPER = Paper(
    name="podium",
    title="Podium: Three Answers in Order",
    kinds=("ranking",),
    layout=layout,
    reader=Podium,
    tables=("podiums",),
    recipes=Path(__file__).parent / "recipes",
    card=Card(
        about="Questions with three answers, and in which order each person puts them.",
        limits=("Nobody said how far apart two answers are.",),
    ),
)
