"""The ways to write an answer: one table, one function each.

A strategy gets a Brief and ``ask(name, prompt)``, which calls the model and keeps what it said
under ``name`` in the candidate's parameters. It returns a Draft: the last prompt, and what it
chose at random. The Brief is all that a strategy can see; the gold need is in it for the experiment
"oracle" alone.
"""

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace

from annotation.candidates import clean, prompts
from annotation.personas import profile as profiles

MASKED = 0.8
MEMORIES = 6
MEMORY_CHARACTERS = 400
# Characters that are shown of the owner's history, and of one source.
HISTORY, SMALL_HISTORY = 24_000, 2_500
SOURCE, SMALL_SOURCE = 1_500, 500
SMALL_SOURCES = 3


@dataclass(frozen=True)
class Source:
    """One thing that a search found: ``kind`` is history, documents, web, or endpoint (its own)."""

    kind: str
    id: str
    title: str
    url: str
    text: str


@dataclass(frozen=True)
class Brief:
    """What a strategy may know: the question, the person, the answer to rewrite, the sources."""

    question: str
    profile: dict = field(default_factory=dict)
    memories: tuple[str, ...] = ()
    # Statements about the person; for "attributes" all that is shown of them.
    attributes: tuple[str, ...] = ()
    answer: str = ""
    # Texts of the owner's own sessions, and what the study's sources hold on the question.
    history: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    # The gold need: empty but in the experiment "oracle".
    need: str = ""
    seed: int = 0
    small: bool = False
    # The study's own wordings of prompts, by name.
    wordings: prompts.Wordings = field(default_factory=dict)

    @property
    def manner(self) -> dict:
        """How its prompts are worded: for a small model, or in the study's own words."""
        return {"small": self.small, "wordings": self.wordings}


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
    # Search-augmented: looks into the study's sources, and shows the owner's history or not.
    searches: bool = False
    history: bool = False
    # Of the history only the sessions nearest to the question.
    selects: bool = False
    oracle: bool = False
    # The endpoint searches the web by itself and reports its sources.
    endpoint_searches: bool = False
    needs_attributes: bool = False
    asks_twice: bool = False
    # Written for another persona of the study than the one who asks.
    other_persona: bool = False

    @property
    def looks_up(self) -> bool:
        """Whether something is searched for: the study says where, and that it is wanted."""
        return self.searches or self.endpoint_searches


def _core_and_inferred(brief: Brief, ask: Ask) -> Draft:
    """A1: core fields, and what the memories show of the preferences that bear on the question.

    As published, the profiler sees memories, not preferences; without any it sees the profile.
    """
    memories = _sample(brief)
    core = profiles.as_text(profiles.core_fields(brief.profile))
    seen = core if memories else profiles.as_text(brief.profile)
    inferred = ask("inferred", prompts.profiler(brief.question, seen, memories, **brief.manner))
    return Draft(prompts.personal_answer(brief.question, core, inferred, **brief.manner))


def _masked(brief: Brief, ask: Ask) -> Draft:
    shown, masked = profiles.mask(brief.profile, seed=brief.seed, share=MASKED)
    about = profiles.as_text(shown)
    prompt = prompts.personal_answer(brief.question, about, **brief.manner)
    return Draft(prompt, {"masked": masked, "share": MASKED})


def _from_attributes(brief: Brief, ask: Ask) -> Draft:
    about = "\n".join(f"- {statement}" for statement in brief.attributes)
    prompt = prompts.personal_answer(brief.question, about, **brief.manner)
    return Draft(prompt, {"attributes": list(brief.attributes)})


def _question_alone(brief: Brief, ask: Ask) -> Draft:
    return Draft(prompts.plain_answer(brief.question, **brief.manner))


def _improved(brief: Brief, ask: Ask) -> Draft:
    length = clean.words(brief.answer)
    prompt = prompts.improve(brief.question, brief.answer, length, **brief.manner)
    return Draft(prompt, {"words_before": length}, tag=prompts.IMPROVED)


def _degraded(brief: Brief, ask: Ask) -> Draft:
    length = clean.words(brief.answer)
    prompt = prompts.degrade(brief.question, brief.answer, length, **brief.manner)
    return Draft(prompt, {"words_before": length}, tag=prompts.DEGRADED)


def _searched(brief: Brief, ask: Ask) -> Draft:
    return _from_sources(brief, "")


def _searched_raw(brief: Brief, ask: Ask) -> Draft:
    return _from_sources(brief, _joined(brief))


def _searched_static(brief: Brief, ask: Ask) -> Draft:
    about = ask("static_profile", prompts.static_profile(_joined(brief), **brief.manner))
    return _from_sources(brief, about)


def _searched_aware(brief: Brief, ask: Ask) -> Draft:
    prompt = prompts.aware_profile(brief.question, _joined(brief), **brief.manner)
    return _from_sources(brief, ask("aware_profile", prompt))


def _from_sources(brief: Brief, about: str) -> Draft:
    room = SMALL_SOURCE if brief.small else SOURCE
    sources = [replace(source, text=source.text[:room]) for source in brief.sources]
    sources = sources[: SMALL_SOURCES if brief.small else None]
    prompt = prompts.searched_answer(
        brief.question, [(source.title, source.text) for source in sources], about, brief.need,
        **brief.manner,
    )  # fmt: skip
    return Draft(prompt, {"sources": [asdict(source) for source in sources]})


def _joined(brief: Brief) -> str:
    """The sessions one after another, each with an equal share of the room at least."""
    room = SMALL_HISTORY if brief.small else HISTORY
    if not brief.history:
        return ""
    share = max(200, room // len(brief.history))
    return "\n\n---\n\n".join(text[:share] for text in brief.history)[:room]


# Written for another persona of the study: for pairs that are easy to tell apart.
MISMATCH = "mismatch"
STRATEGIES = {
    "A1": Strategy(_core_and_inferred, needs_persona=True, asks_twice=True),
    "A2": Strategy(_masked, needs_persona=True),
    "A3": Strategy(_question_alone),
    "attributes": Strategy(_from_attributes, needs_persona=True, needs_attributes=True),
    MISMATCH: Strategy(_core_and_inferred, needs_persona=True, asks_twice=True, other_persona=True),
    "improve": Strategy(_improved, rewrites=True),
    "degrade": Strategy(_degraded, rewrites=True),
    "search": Strategy(_searched, searches=True),
    "search-raw": Strategy(_searched_raw, searches=True, history=True),
    "search-raw-selected": Strategy(_searched_raw, searches=True, history=True, selects=True),
    "search-static": Strategy(_searched_static, asks_twice=True, searches=True, history=True),
    "search-static-selected": Strategy(
        _searched_static, asks_twice=True, searches=True, history=True, selects=True
    ),
    "search-aware": Strategy(_searched_aware, asks_twice=True, searches=True, history=True),
    "search-aware-selected": Strategy(
        _searched_aware, asks_twice=True, searches=True, history=True, selects=True
    ),
    "search-oracle": Strategy(_searched, searches=True, oracle=True),
    "search-endpoint": Strategy(_question_alone, endpoint_searches=True),
}
ANSWERS = tuple(name for name, strategy in STRATEGIES.items() if not strategy.rewrites)
REWRITES = tuple(name for name, strategy in STRATEGIES.items() if strategy.rewrites)
# What a study may declare as its own: ways to answer any query, also where nobody has a profile.
WITHOUT_PERSONA = tuple(name for name in ANSWERS if not STRATEGIES[name].needs_persona)
# The strategy whose answer saw the question alone, and what imported answers may call it.
QUESTION_ALONE = "A3"
GENERIC = (QUESTION_ALONE, "generic")
FROM_ATTRIBUTES = "attributes"
# Asked for where nobody names strategies.
PERSONA_ANSWERS = ("A1", "A2", "A3")


def strategy_of(name: str) -> Strategy:
    """The strategy of a candidate's name; older rewrites name what they rewrite in it, too."""
    return STRATEGIES.get(name) or STRATEGIES[name.split("-")[0]]


def keeps_length(before: int, text: str, tolerance: float) -> bool:
    """Whether ``text`` has ``before`` words, give or take the share ``tolerance`` of them."""
    return abs(clean.words(text) - before) <= tolerance * before


def _sample(brief: Brief) -> list[str]:
    if brief.small:
        return []
    drawn = random.Random(brief.seed)  # noqa: S311 - no secret
    chosen = drawn.sample(brief.memories, min(MEMORIES, len(brief.memories)))
    return [text[:MEMORY_CHARACTERS] for text in chosen]
