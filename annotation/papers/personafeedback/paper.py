"""The paper: answers that fit a persona in three degrees, and its release as rows of a study."""

import random
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from annotation.candidates import strategies
from annotation.candidates.strategies import MISMATCH, Ask, Brief, Draft, Strategy
from annotation.datasets import release_files
from annotation.datasets.papers import Card, Paper
from annotation.datasets.released import HALVES, Pairs, Place, Rows, bare_persona, times_of
from annotation.evaluation.pairs import SETTINGS
from annotation.imports.recipes import Recipe
from annotation.papers.personafeedback import layout
from annotation.personas import schema as profiles

MASKED = 0.8
MEMORIES = 6
MEMORY_CHARACTERS = 400


def _core_and_inferred(brief: Brief, ask: Ask) -> Draft:
    """A1: core fields, and what the memories show of the preferences that bear on the question.

    As published, the profiler sees memories, not preferences; without any it sees the profile.
    """
    memories = _sample(brief)
    core = profiles.as_text(profiles.core_fields(brief.profile))
    seen = core if memories else profiles.as_text(brief.profile)
    inferred = ask("inferred", strategies.profiler(brief.question, seen, memories, brief.manner))
    return Draft(strategies.personal_answer(brief.question, core, inferred, brief.manner))


def _masked(brief: Brief, ask: Ask) -> Draft:
    shown, masked = profiles.mask(brief.profile, seed=brief.seed, share=MASKED)
    about = profiles.as_text(shown)
    prompt = strategies.personal_answer(brief.question, about, manner=brief.manner)
    return Draft(prompt, {"masked": masked, "share": MASKED})


def _sample(brief: Brief) -> list[str]:
    if brief.manner.small:
        return []
    drawn = random.Random(brief.seed)  # noqa: S311 - no secret
    chosen = drawn.sample(brief.memories, min(MEMORIES, len(brief.memories)))
    return [text[:MEMORY_CHARACTERS] for text in chosen]


STRATEGIES = {
    "A1": Strategy(
        _core_and_inferred,
        words=_("A1: core fields and inferred preferences"),
        place=1,
        by_default=True,
        needs_persona=True,
        asks_twice=True,
    ),
    "A2": Strategy(
        _masked,
        words=_("A2: 80 % of the profile left out at random"),
        place=2,
        by_default=True,
        needs_persona=True,
    ),
    MISMATCH: Strategy(
        _core_and_inferred,
        words=_("mismatch: A1 of another persona, for the easy tier"),
        place=5,
        needs_persona=True,
        asks_twice=True,
        other_persona=True,
    ),
}

TIERS = (*layout.TIERS, "majority", "imported")
PERSONAS = layout.PERSONAS.removesuffix(".jsonl")
TABLES = (
    PERSONAS,
    *(
        f"{root}{half}/{tier}"
        for root in ("data/", "")
        for halves in HALVES.values()
        for half in halves
        for tier in TIERS
    ),
)


class PersonaFeedback(Pairs):
    """``data/{specific,general}/{easy,medium,hard}`` and the personas, ours or as published."""

    name = "personafeedback"
    columns = frozenset(layout.COLUMNS)

    def files(self) -> Iterator[tuple[str, str, str]]:
        """(table, half, tier) of the pairs that are there."""
        for half, folders in HALVES.items():
            for name in folders:
                for tier in TIERS:
                    for table in (f"data/{name}/{tier}", f"{name}/{tier}"):
                        if release_files.parts(self.folder, table):
                            yield table, half, tier

    def personas(self) -> Rows:
        """The line of a persona is its id; without that file, only a person's id is available."""
        if release_files.parts(self.folder, PERSONAS):
            for place, row in self.read(PERSONAS, None):
                yield place, {"id": str(place.line), "profile": row}
            return
        yield from self.convert(self.pair_rows(), bare_persona)

    def memories(self) -> Rows:
        """Texts that a persona would be interested in."""
        columns = frozenset(("user_id", "text", "since", "until"))
        for place, row in self.read("persona/memories", columns):
            memory = {"persona": str(row.get("user_id", "")), "text": row.get("text")}
            yield place, memory | times_of(row)

    def pair_rows(self) -> Iterator[tuple[Place, dict]]:
        for table, half, tier in self.files():
            for place, row in self.read(table, self.columns):
                yield place, row | {"half": half, "tier": tier}


RECIPE = Recipe(
    _("PersonaFeedback pairs"),
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
    persons=True,
    layout=layout,
    reader=PersonaFeedback,
    tables=TABLES,
    settings=tuple(SETTINGS),
    recipes=Path(__file__).parent / "recipes",
    mappings={"personafeedback": RECIPE},
    strategies=STRATEGIES,
    card=Card(
        about="Pairs of answers to a question of one persona, in three tiers of difficulty. "
        "`user_id` is the line of the persona in `persona/all_personas.jsonl`, counted from 1. "
        "`votes.csv` has every vote."
    ),
)
