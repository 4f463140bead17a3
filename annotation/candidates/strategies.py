"""The ways to write an answer, one function each: the general ones, and those of papers.

A strategy gets a Brief and ``ask(name, prompt)``, which calls the model and keeps what it said
under ``name`` in the candidate's parameters. It returns a Draft: the last prompt, and what it
chose at random. The Brief is all that a strategy can see; the gold need is in it for the experiment
"oracle" alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy as _

from annotation.candidates import clean, prompts

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

# Characters that are shown of one source.
SOURCE, SMALL_SOURCE = 1_500, 500
SMALL_SOURCES = 3
# Sessions of a history that may be shown: the newest, or by "selected" the nearest.
NEWEST, NEAREST = 40, 5


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
    # How its prompts are worded.
    manner: prompts.Manner = prompts.PLAIN


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
    # What it shows the model, as the pages say it, and where it stands among the others.
    words: "StrOrPromise"
    place: int = 100
    # Asked for where nobody names strategies.
    by_default: bool = False
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


def _question_alone(brief: Brief, ask: Ask) -> Draft:
    return Draft(prompts.plain_answer(brief.question, brief.manner))


def _rewritten(brief: Brief, ask: Ask, how: str) -> Draft:
    length = clean.count_words(brief.answer)
    prompt = prompts.rewrite(how, brief.question, brief.answer, length, brief.manner)
    return Draft(prompt, {"words_before": length}, tag=prompts.TAGS[how])


def from_sources(brief: Brief, ask: Ask, about: str = "") -> Draft:
    """Answer from what was found, with ``about`` the person."""
    room = SMALL_SOURCE if brief.manner.small else SOURCE
    sources = [replace(source, text=source.text[:room]) for source in brief.sources]
    sources = sources[: SMALL_SOURCES if brief.manner.small else None]
    prompt = prompts.searched_answer(
        brief.question, [(source.title, source.text) for source in sources], about, brief.need,
        brief.manner,
    )  # fmt: skip
    return Draft(prompt, {"sources": [asdict(source) for source in sources]})


# Written for another persona of the study: for pairs that are easy to tell apart.
MISMATCH = "mismatch"
# The strategy whose answer saw the question alone, and what imported answers may call it.
QUESTION_ALONE = "A3"
GENERIC = (QUESTION_ALONE, "generic")
FROM_ATTRIBUTES = "attributes"

GENERAL = {
    QUESTION_ALONE: Strategy(
        _question_alone, words=_("A3: the question alone"), place=3, by_default=True
    ),
    "search": Strategy(
        from_sources, words=_("no context: the question and what is found"), place=10, searches=True
    ),
    "search-endpoint": Strategy(
        _question_alone,
        words=_("the endpoint's own web search: the question alone"),
        place=19,
        endpoint_searches=True,
    ),
    "improve": Strategy(
        partial(_rewritten, how="improve"),
        words=_("improve: rewrite the A1 answers for the better, as long as they are"),
        place=30,
        rewrites=True,
    ),
    "degrade": Strategy(
        partial(_rewritten, how="degrade"),
        words=_("degrade: rewrite the A1 answers for the worse, as long as they are"),
        place=31,
        rewrites=True,
    ),
}
# Further strategies by name: those of papers.
SOURCES: list[Callable[[], Mapping[str, Strategy]]] = []


@cache
def by_name() -> dict[str, Strategy]:
    """Every strategy by its name, in the order in which they are offered."""
    known = GENERAL | {name: made for source in SOURCES for name, made in source().items()}
    return dict(sorted(known.items(), key=lambda entry: entry[1].place))


def answers() -> list[str]:
    """The strategies that answer a question; the others rewrite an answer."""
    return [name for name, strategy in by_name().items() if not strategy.rewrites]


def without_persona() -> list[str]:
    """What a study may declare as its own: ways to answer any query, also where nobody has a
    profile.
    """
    return [name for name in answers() if not by_name()[name].needs_persona]


def by_default() -> list[str]:
    """What is asked for where nobody names strategies."""
    return [name for name, strategy in by_name().items() if strategy.by_default]


def keeps_length(before: int, text: str, tolerance: float) -> bool:
    """Whether ``text`` has ``before`` words, give or take the share ``tolerance`` of them."""
    return abs(clean.count_words(text) - before) <= tolerance * before
