"""The ways to write an answer, one function each: the general ones, and those of papers.

A strategy gets a Brief and ``ask(name, prompt)``, which calls the model and keeps what it said
under ``name`` in the candidate's parameters. It returns a Draft: the last prompt, and what it
chose at random. The Brief is all that a strategy can see; the gold need is in it for the experiment
"oracle" alone.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, partial
from pathlib import Path

from django.utils.translation import gettext_lazy as _

from annotation.candidates import clean
from annotation.core.words import StrOrPromise

# --- Messages for every call ----------------------------------------------------------------------

# Each builder returns a Prompt whose ``template`` names the wording and its version: any change of
# a wording gets a new version, because stored candidates name the one that made them. A Manner says
# whose wording it is: a study's own takes the place of ours (WORDINGS). A small model gets a
# shorter one, which is a template of its own, where the study has none.

# Between which tags a rewritten answer stands.
TAGS = {"improve": "improved", "degrade": "degraded"}

# Asked for in the language itself where the script tells it: small models follow that best.
_SCRIPTS = (
    ("\uac00", "\ud7a3", "질문과 같은 한국어로 답하세요."),
    ("\u3041", "\u30ff", "質問と同じ日本語で答えてください。"),
    ("\u4e00", "\u9fff", "请用与问题相同的语言(中文)作答。"),
)
_ELSE = "Write in the language of the question."


@dataclass(frozen=True)
class Prompt:
    """Chat messages and the name/version of the wording that made them."""

    template: str
    messages: list[dict]

    @property
    def digest(self) -> str:
        """SHA-256 of the messages as canonical JSON, hexadecimal."""
        canonical = json.dumps(
            self.messages, ensure_ascii=False, separators=(",", ":"), sort_keys=True
        )
        return hashlib.sha256(canonical.encode()).hexdigest()


_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Wording:
    """One prompt as texts with places ``{name}``; ``id`` is stored with each result.

    Filling is one pass: braces in what is filled in stay as they are. ``needs`` are places that no
    wording of this prompt can do without; those of ``user`` are needed in any case.
    """

    id: str
    system: str
    user: str
    needs: tuple[str, ...] = ()

    @property
    def places(self) -> set[str]:
        return places_of(self.system + self.user)

    @property
    def needed(self) -> set[str]:
        return places_of(self.user) | set(self.needs)

    def prompt(self, **values: str) -> Prompt:
        """The messages with ``values`` in their places."""
        return _prompt(self.id, _filled(self.system, values), _filled(self.user, values))


def places_of(text: str) -> set[str]:
    return set(_PLACE.findall(text))


def _filled(text: str, values: dict[str, str]) -> str:
    return _PLACE.sub(lambda place: values.get(place.group(1), place.group()), text)


_FILE = Path(__file__).with_name("prompts.toml")


def _wordings(group: str) -> dict[str, Wording]:
    """The wordings of one part of the file, by name."""
    texts = tomllib.loads(_FILE.read_text(encoding="utf-8"))[group]
    return {
        name: Wording(**text | {"needs": tuple(text.get("needs", ()))})
        for name, text in texts.items()
    }


# Of answers, which a study can replace by its own; of answers of small models; of steps.
WORDINGS, _SMALL, OF_STEPS = map(_wordings, ("answers", "small", "steps"))


@dataclass(frozen=True)
class Manner:
    """How prompts are worded: for a ``small`` model, or in a study's own words, by name."""

    small: bool = False
    wordings: Mapping[str, Wording] = field(default_factory=dict)

    def wording(self, name: str) -> Wording:
        return self.wordings.get(name) or (_SMALL if self.small else WORDINGS)[name]


PLAIN = Manner()


def plain_answer(question: str, manner: Manner = PLAIN) -> Prompt:
    """The question alone (A3)."""
    return manner.wording("plain").prompt(question=question, language=language(question))


def personal_answer(
    question: str, about: str, inferred: str = "", manner: Manner = PLAIN
) -> Prompt:
    """The question with what is known of the person (A1, A2).

    ``about`` is text of the profile or of a part of it; ``inferred`` the profiler's findings.
    """
    if inferred:
        about = f"{about}\n\nLikely to matter for this question:\n{inferred}"
    asked = {"question": question, "language": language(question)}
    return manner.wording("personal").prompt(**asked, person=about)


def profiler(
    question: str, about: str, memories: Sequence[str] = (), manner: Manner = PLAIN
) -> Prompt:
    """Ask which preferences of the person bear on the question (first call of A1).

    ``about`` is text of the whole profile, ``memories`` texts that the person found of interest.
    """
    read = "\n\nTexts this person liked to read:\n" + "\n".join(f"- {text}" for text in memories)
    return manner.wording("profiler").prompt(
        question=question,
        language=language(question),
        person=about,
        memories=read if memories else "",
    )


def searched_answer(
    question: str,
    sources: list[tuple[str, str]],
    about: str = "",
    need: str = "",
    manner: Manner = PLAIN,
) -> Prompt:
    """The question with what a search found: ``sources`` are (title, text).

    ``about`` is what is known of the person: their history or a profile made from it. ``need`` is
    given in the experiment "oracle" and in no other.
    """
    arm = "searched" + ("-about" if about else "") + ("-oracle" if need else "")
    passages = "\n\n".join(f"[{n}] {title}\n{text}" for n, (title, text) in enumerate(sources, 1))
    wording = manner.wording("searched")
    if "searched" not in manner.wordings:  # the name tells what the model was shown
        wording = replace(wording, id=wording.id.replace("searched", arm))
    return wording.prompt(
        question=question,
        language=language(question),
        about=f"\n\nWhat is known of the person who asks:\n{about}" if about else "",
        need=f"\n\nWhat the person really wants to know:\n{need}" if need else "",
        sources=passages or "(no results)",
    )


def static_profile(history: str, manner: Manner = PLAIN) -> Prompt:
    """Ask for a profile of the person behind ``history``, whatever they may ask."""
    return manner.wording("static-profile").prompt(history=history or "(nothing)")


def aware_profile(question: str, history: str, manner: Manner = PLAIN) -> Prompt:
    """Ask what of ``history`` bears on ``question``."""
    shown = history or "(nothing)"
    return manner.wording("aware-profile").prompt(history=shown, question=question)


def claims(question: str, response: str) -> Prompt:
    """Ask to split a response into atomic claims, one a line."""
    system = (
        "Split the response into atomic claims: short statements that can be checked one by one, "
        "each understandable by itself, none said twice, nothing added. Write one claim a line, "
        f"without numbers. {language(question)}"
    )
    return _prompt("claims/1", system, f"The question:\n{question}\n\nThe response:\n{response}")


def refined(question: str, need: str, response: str, wish: str) -> Prompt:
    """Ask for a response as its owner wishes it; the need is shown, since the owner asks."""
    system = (
        "Rewrite the response as the person who asked wishes it. Change what the wish is about and "
        f"leave the rest as it is; invent no facts. Give the response alone. {language(question)}"
    )
    user = f"The question:\n{question}\n\nThe need behind it:\n{need}"
    return _prompt("refine/1", system, f"{user}\n\nThe response:\n{response}\n\nThe wish:\n{wish}")


def rubric(
    question: str, need: str, judged: list[tuple[str, list[tuple[str, int, str]]]]
) -> Prompt:
    """Ask for a rubric of what this person wants, from their own judgments.

    ``judged``: (answer, [(criterion, score from 1 to 5, feedback)]) of each answer they scored.
    What it says is kept for judges and never goes into an answer's prompt.
    """
    system = (
        "A person scored answers to their question and said why. Write a rubric by which somebody "
        "else could judge a new answer as this person would: for every criterion two or three "
        "short lines on what satisfies and what disappoints this person. Name nothing that their "
        f"words do not show. {language(question)}"
    )
    shown = "\n\n".join(
        f"Answer:\n{answer}\n"
        + "\n".join(f"{name}: {n} of 5. {reason}" for name, n, reason in scores)
        for answer, scores in judged
    )
    user = f"The question:\n{question}\n\nThe need behind it:\n{need}\n\n{shown}"
    return _prompt("rubric/1", system, user)


def rewrite(how: str, question: str, answer: str, length: int, manner: Manner = PLAIN) -> Prompt:
    """Ask to "improve" or "degrade" the wording of ``answer``, as long as it is (in words)."""
    tag = TAGS[how]
    return manner.wording(how).prompt(
        question=question,
        answer=answer,
        language=language(question),
        length=str(length),
        form=f"Put nothing but the rewritten answer between <{tag}> and </{tag}>.",
    )


def language(question: str) -> str:
    """The sentence that asks for the question's own language."""
    letters = sum(sign.isalpha() for sign in question)
    for first, last, sentence in _SCRIPTS:
        signs = sum(first <= sign <= last for sign in question)
        # One sign stands for about four Latin letters; a quoted word decides nothing.
        if signs and signs * 4 >= letters:
            return sentence
    return _ELSE


def _prompt(template: str, system: str, user: str) -> Prompt:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return Prompt(template, messages)


# --- Strategies -----------------------------------------------------------------------------------

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
    manner: Manner = PLAIN


@dataclass(frozen=True)
class Draft:
    """The prompt of the answering call, what to record with it, the answer's tag."""

    prompt: Prompt
    parameters: dict = field(default_factory=dict)
    tag: str = ""


Ask = Callable[[str, Prompt], str]


@dataclass(frozen=True)
class Strategy:
    """One way to write an answer, and what it needs besides the question."""

    draft: Callable[[Brief, Ask], Draft]
    # What it shows the model, as the pages say it, and where it stands among the others.
    words: StrOrPromise
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


def _question_alone(brief: Brief, ask: Ask) -> Draft:
    return Draft(plain_answer(brief.question, brief.manner))


def _rewritten(brief: Brief, ask: Ask, how: str) -> Draft:
    length = clean.count_words(brief.answer)
    prompt = rewrite(how, brief.question, brief.answer, length, brief.manner)
    return Draft(prompt, {"words_before": length}, tag=TAGS[how])


def from_sources(brief: Brief, ask: Ask, about: str = "") -> Draft:
    """Answer from what was found, with ``about`` the person."""
    room = SMALL_SOURCE if brief.manner.small else SOURCE
    sources = [replace(source, text=source.text[:room]) for source in brief.sources]
    sources = sources[: SMALL_SOURCES if brief.manner.small else None]
    prompt = searched_answer(
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
        _question_alone, words=_("the question alone"), place=3, by_default=True
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
