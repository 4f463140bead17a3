"""The ways to write an answer: one table, one function each.

A strategy gets a Brief and ``ask(name, prompt)``, which calls the model and keeps what it said
under ``name`` in the candidate's parameters. It returns a Draft: the last prompt, and what it
chose at random. The Brief is all that a strategy can see; the gold need is not in it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from annotation.candidates import clean, prompts
from annotation.personas import profile as profiles

MASKED = 0.8
MEMORIES = 6
MEMORY_CHARACTERS = 400
# A rewrite whose word count differs more than this from the original's is refused.
LENGTH_TOLERANCE = 0.2


@dataclass(frozen=True)
class Brief:
    """What a strategy may know: the question, the person's profile, the answer to rewrite."""

    question: str
    profile: dict = field(default_factory=dict)
    memories: tuple[str, ...] = ()
    answer: str = ""
    seed: int = 0
    small: bool = False


@dataclass(frozen=True)
class Draft:
    """The prompt of the answering call, what to record with it, the answer's tag."""

    prompt: prompts.Prompt
    parameters: dict = field(default_factory=dict)
    tag: str = ""


Ask = Callable[[str, prompts.Prompt], str]


@dataclass(frozen=True)
class Strategy:
    """One way to write an answer, and what it needs besides the question."""

    draft: Callable[[Brief, Ask], Draft]
    needs_persona: bool = False
    rewrites: bool = False


def _core_and_inferred(brief: Brief, ask: Ask) -> Draft:
    memories = _sample(brief)
    everything = profiles.as_text(brief.profile)
    inferred = ask(
        "inferred", prompts.profiler(brief.question, everything, memories, small=brief.small)
    )
    core = profiles.as_text(profiles.core_fields(brief.profile))
    return Draft(prompts.personal_answer(brief.question, core, inferred, small=brief.small))


def _masked(brief: Brief, ask: Ask) -> Draft:
    kept, masked = profiles.mask(brief.profile, seed=brief.seed, share=MASKED)
    about = profiles.as_text(kept)
    prompt = prompts.personal_answer(brief.question, about, small=brief.small)
    return Draft(prompt, {"masked": masked, "share": MASKED})


def _question_alone(brief: Brief, ask: Ask) -> Draft:
    return Draft(prompts.plain_answer(brief.question, small=brief.small))


def _improved(brief: Brief, ask: Ask) -> Draft:
    length = clean.words(brief.answer)
    prompt = prompts.improve(brief.question, brief.answer, length, small=brief.small)
    return Draft(prompt, {"words_before": length}, tag=prompts.IMPROVED)


def _degraded(brief: Brief, ask: Ask) -> Draft:
    length = clean.words(brief.answer)
    prompt = prompts.degrade(brief.question, brief.answer, length, small=brief.small)
    return Draft(prompt, {"words_before": length}, tag=prompts.DEGRADED)


STRATEGIES = {
    "A1": Strategy(_core_and_inferred, needs_persona=True),
    "A2": Strategy(_masked, needs_persona=True),
    "A3": Strategy(_question_alone),
    "improve": Strategy(_improved, rewrites=True),
    "degrade": Strategy(_degraded, rewrites=True),
}
ANSWERS = tuple(name for name, strategy in STRATEGIES.items() if not strategy.rewrites)


def keeps_length(before: int, text: str) -> bool:
    """Whether ``text`` has ``before`` words, give or take LENGTH_TOLERANCE."""
    return abs(clean.words(text) - before) <= LENGTH_TOLERANCE * before


def _sample(brief: Brief) -> list[str]:
    if brief.small:
        return []
    drawn = random.Random(brief.seed)  # noqa: S311 - no secret
    chosen = drawn.sample(brief.memories, min(MEMORIES, len(brief.memories)))
    return [text[:MEMORY_CHARACTERS] for text in chosen]
