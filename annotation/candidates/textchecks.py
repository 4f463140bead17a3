"""What is looked at in an answer before people see it. Pure.

A held answer waits for a curator with the reason. An explicit mention of an attribute is noted in
the data alone: it is something to be measured, not a fault.
"""

import re
from collections.abc import Sequence
from statistics import median

from django.utils.translation import gettext_lazy as _

from annotation.candidates import clean
from annotation.core import languages
from annotation.personas import schema as profiles

FLAGS = {
    "identity": _("names a model or its maker"),
    "third-person": _("speaks of the persona in the third person"),
    "empty": _("has no text"),
    "truncated": _("is cut off"),
    "language": _("is in another language than the question"),
    "length": _("is much longer or shorter than the others"),
    "mention": _("mentions an attribute outright"),
}
# All but the mention hold an answer back.
HOLDING = frozenset(FLAGS) - {"mention"}
REASONS = {code: words for code, words in FLAGS.items() if code != "mention"} | {
    "uncomfortable": _("uncomfortable to read"),
    "over-personalised": _("over-personalised"),
    "other": _("another reason"),
}
# Outliers are told from at least so many other answers, by the ratio to their median.
FEWEST_OTHERS, RATIO = 4, 4.0
FEWEST_LETTERS = 20
# Shares of words that are frequent in English, of texts with at least so many words: of 289 answers
# of people in English 94 % have more than the first, 1 % have less than the second.
ENGLISH, NOT_ENGLISH, FEWEST_WORDS = 1 / 8, 1 / 50, 30
_THIRD = re.compile(
    r"\b(?:the|this) (?:persona|user|person described)\b|(?:这位|该)用户|해당 (?:사용자|인물)",
    re.I,
)


def check(
    text: str,
    *,
    question: str,
    language: str = "",
    name: str = "",
    finish_reason: str = "",
    others: Sequence[int] = (),
    attributes: Sequence[str] = (),
) -> list[str]:
    """Codes of FLAGS that apply to ``text``, in their order.

    ``language`` is the question's (or ""), ``name`` the persona's, ``others`` the word counts of
    other answers to the question, ``attributes`` statements about the persona.
    """
    codes = {
        "identity": bool(clean.identity(text)),
        "third-person": third_person(text, question, name),
        "empty": not clean.words(text),
        "truncated": finish_reason == "length",
        "language": other_language(text, question, language),
        "length": outlier(clean.words(text), others),
        "mention": any(mentions(text, statement) for statement in attributes),
    }
    return [code for code in FLAGS if codes[code]]


def third_person(text: str, question: str, name: str = "") -> bool:
    """Whether ``text`` speaks of the person instead of to them; what the question names is free."""
    first = name.split()[0] if name.split() else ""
    if len(first) > 1 and first not in question:
        spoken = re.compile(
            rf"\b{re.escape(first)}(?:'s|’s)?\s+(?:is|was|has|likes?|would|prefers?)\b"
        )
        if spoken.search(text):
            return True
    return bool(_THIRD.search(text)) and not _THIRD.search(question)


def other_language(text: str, question: str, language: str = "") -> bool:
    """Whether ``text`` is in another language than the question; short texts never.

    Told by the main script of both and, of a text in Latin letters, by whether it is English as the
    question is. ``language`` is the question's, such as "de"; where it is "", only a question whose
    words say so is English.
    """
    written, asked = (languages.script(words, FEWEST_LETTERS) for words in (text, question))
    if written and asked and written != asked:
        return True
    if written != "latin" or clean.words(text) < FEWEST_WORDS:
        return False
    share = languages.english_share(text)
    if language:
        is_english = language.lower().startswith("en")
    else:
        is_english = languages.english_share(question) >= ENGLISH
    return share <= NOT_ENGLISH if is_english else bool(language) and share >= ENGLISH


def outlier(words: int, others: Sequence[int]) -> bool:
    """Whether ``words`` is RATIO times more or less than the median of at least FEWEST_OTHERS."""
    if len(others) < FEWEST_OTHERS:
        return False
    middle = median(others) or 1
    return words > RATIO * middle or words * RATIO < middle


SHORTEST, SHORTEST_CJK = 4, 2
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_TYPE = re.compile(r"\b[EI][NS][FT][JP]\b")
_PARTS = re.compile(r"[,;，；、/()\n]+")
# Nobody gives themselves away by these.
_PLAIN = {"male", "female", "english", "chinese", "korean", "none", "other", "student"}


def named(text: str, profile: dict) -> list[str]:
    """Values of ``profile``'s core fields, or parts of them between commas, that ``text`` says.

    Case and width of white space do not count; very short and very common values are passed over.
    A type of personality (INFJ) counts for anybody.
    """
    plain = f" {_plain(text)} "
    parts = {
        part.strip()
        for _path, value in profiles.leaves(profiles.core_fields(profile))
        for part in _PARTS.split(str(value))
    }
    leaked = {part for part in parts if _tells(part) and _plain(part) in plain}
    age = str(profile.get("Demographics", {}).get("Age", "")).strip()
    if age.isdigit() and re.search(rf"(?<!\d){age}\s*(?:[- ]?years?[- ]old|岁|살|세)", plain):
        leaked.add(age)
    return sorted(leaked | set(_TYPE.findall(text)))


def mentions(text: str, statement: str, *, share: float = 0.8) -> bool:
    """Whether ``text`` repeats an attribute outright: ``share`` of its longer words in a row of it.

    The words need not be next to each other, but within one sentence of ``text``.
    """
    wanted = set(_words(statement))
    if not wanted:
        return False
    sentences = re.split(r"[.!?。！？\n]+", text)
    return any(len(wanted & set(_words(sentence))) >= share * len(wanted) for sentence in sentences)


def _words(text: str) -> list[str]:
    return [
        word for word in re.findall(r"\w+", text.casefold()) if len(word) > 3 or _CJK.search(word)
    ]


def _tells(part: str) -> bool:
    least = SHORTEST_CJK if _CJK.search(part) else SHORTEST
    return len(part) >= least and _plain(part) not in _PLAIN


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
