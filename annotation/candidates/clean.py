"""What a model wrote, made ready for people: pure functions over text.

As published: thinking, numeric citations and URLs leave the text, and
URLs are kept apart.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from django.utils.translation import gettext_lazy as _

from annotation.core import languages, records
from annotation.personas import schema as profiles

_THINK = r"think(?:ing)?|reasoning|thought"
_THOUGHT = re.compile(rf"<({_THINK})>(?:(?!<(?:{_THINK})>).)*?</\1>", re.S | re.I)
_THOUGHT_END = re.compile(rf"\A.*</(?:{_THINK})>", re.S | re.I)
_THOUGHT_START = re.compile(rf"<(?:{_THINK})>.*\Z", re.S | re.I)

# Inside code a bracketed number is an index, not a citation.
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.S)
_CITATION = re.compile(
    r"[ \t]?(?:\[\^?\d{1,3}(?:\s?[,;–-]\s?\d{1,3}){0,20}\](?!\()|【\d{1,3}[^【】\n]{0,40}】)"
)
# A URL ends at white space, at quotes and angle brackets, and at Chinese or Korean punctuation.
_ENDS = r"\s<>\"'`|\\，。、；：！？）】」』》“”‘’"
_URL_TEXT = rf"(?:https?://|www\.)[^{_ENDS}]+"
# In a Markdown link parentheses belong to the URL where they are balanced.
_LINKED = rf"(?:https?://|www\.)(?:[^{_ENDS}()]|\([^{_ENDS}()]*\))+"
_LINK = re.compile(
    rf"!?\[(?P<text>[^\[\]\n]{{0,300}})\]"
    rf"\(\s*<?(?P<url>{_LINKED})>?(?:\s+\"[^\"\n]*\")?\s*\)",
    re.I,
)
_DEFINITION = re.compile(
    rf"^[ \t]*\[[^\[\]\n]{{1,100}}\]:[ \t]*<?(?P<url>{_URL_TEXT})>?(?P<rest>)[^\n]*$", re.M | re.I
)
_URL = re.compile(rf"<({_URL_TEXT})>|({_URL_TEXT})", re.I)
_AFTER = ".,;:!?*_~"
_LEFT_OVER = re.compile(r"[ \t]+(?:[(（]\s*[)）]|\[\])(?=[\s.,;:!?。，]|\Z)")
_BULLET_ALONE = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])?[ \t:：.,;-]*\Z")
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+"
)

# Names that are nothing but a model or its maker.
_NAMES = (
    r"chat\s?gpt|gpt-?[345][\w.-]*|open\s?ai|anthropic|deep\s?seek|qwen[\w.-]*|smol\s?lm[\w-]*|"
    r"hugging\s?face|mixtral|chatglm[\w-]*|通义千问|文心一言|豆包|智谱|月之暗面|深度求索"
)
# Names that also mean a person, an animal or a wind count where the text speaks of itself.
_SHARED = r"claude|gemini|llama|mistral|grok|gemma|phi-?\d|kimi|copilot|bard"
_SELF = (
    r"(?:i am|i'm|my name is|made by|trained by|developed by|created by)\s+(?:an?\s+)?|"
    r"我是|我叫|作为|저는\s?|제 이름은\s?"
)
_IDENTITY = re.compile(
    rf"(?<![a-z])(?:{_NAMES})(?![a-z])"
    rf"|(?<![a-z])(?:{_SHARED})[ -]\d[\w.]*"
    rf"|(?:{_SELF})(?:{_SHARED})(?![a-z])"
    r"|\b(?:i am|i'm|as) an? (?:ai|artificial intelligence)(?: language)? (?:model|assistant)\b"
    r"|作为(?:一个|一名)?(?:人工智能|AI|大型?语言模型)|(?:저는|나는) (?:AI|인공지능)",
    re.I,
)
FEWEST_LETTERS = 20


@dataclass(frozen=True)
class Cleaned:
    """The text people may see, and the URLs that were in it, in order, each once."""

    text: str
    urls: tuple[str, ...]


def clean(raw: str, tag: str = "") -> Cleaned:
    """Return ``raw`` without thinking, numeric citations and URLs. The text may become empty.

    With ``tag`` only what stands between <tag> and </tag> counts, outside of the thinking.
    Thinking that was never closed takes everything after it: what follows is no answer.
    """
    text = without_thoughts(records.clean(raw).replace("\r\n", "\n"))
    if tag:
        text = tagged(text, tag)
    urls: list[str] = []
    parts = _CODE.split(text)
    for index, part in enumerate(parts):
        is_code = index % 2 == 1
        parts[index] = _bare(part, urls) if is_code else _prose(part, urls)
    text = re.sub(r"\n{3,}", "\n\n", "".join(parts))
    return Cleaned(text.strip(), tuple(dict.fromkeys(urls)))


def identity(text: str) -> list[str]:
    """Return the words by which ``text`` names a model or its maker, each once, sorted."""
    return sorted({match.group().strip().lower() for match in _IDENTITY.finditer(text)})


def count_words(text: str) -> int:
    """Return how many words ``text`` has; each Chinese, Japanese or Korean sign counts as one."""
    return sum(1 for _ in _WORD.finditer(text))


def tagged(raw: str, tag: str) -> str:
    """Return what stands between ``<tag>`` and ``</tag>``, or "" where the tags are missing."""
    match = re.search(rf"<{tag}>(.*?)</{tag}>", raw, re.S | re.I)
    return match.group(1).strip() if match else ""


def without_thoughts(text: str) -> str:
    """Return ``text`` without what a model thinks aloud before it answers."""
    count = 1
    while count:  # thoughts inside thoughts go from the inside out
        text, count = _THOUGHT.subn("", text)
    text = _THOUGHT_END.sub("", text)
    return _THOUGHT_START.sub("", text)


def _prose(part: str, urls: list[str]) -> str:
    for pattern, name in ((_DEFINITION, "rest"), (_LINK, "text")):
        part = pattern.sub(partial(_linked, group=name, urls=urls), part)
    part = _CITATION.sub("", part)
    return "\n".join(_line(line, urls) for line in part.split("\n"))


def _linked(match: re.Match[str], group: str, urls: list[str]) -> str:
    _split(match["url"], urls)
    return match[group] or ""


def _line(line: str, urls: list[str]) -> str:
    bare = _bare(line, urls)
    if bare == line:
        return line
    bare = _LEFT_OVER.sub("", bare).rstrip()
    # A list of sources leaves bullets with nothing behind them.
    return "" if _BULLET_ALONE.match(bare) else bare


def _bare(part: str, urls: list[str]) -> str:
    # A blank for <URL>: without it, what stood around it could close up to a new URL.
    return _URL.sub(
        lambda match: (
            f"{_split(match.group(1), urls)} " if match.group(1) else _split(match.group(2), urls)
        ),
        part,
    )


def _split(url: str, urls: list[str]) -> str:
    """Note the URL at the start of ``url`` and return the punctuation after it."""
    link = url.rstrip(_AFTER)
    while link.endswith((")", "]")) and _unbalanced(link):
        link = link[:-1].rstrip(_AFTER)
    urls.append(link)
    return url[len(link) :]


def _unbalanced(url: str) -> bool:
    return url.count("(") + url.count("[") < url.count(")") + url.count("]")


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
# Shares of words that are frequent in English, of texts with at least so many words: of 289 answers
# of people in English 94 % have more than the first, 1 % have less than the second.
ENGLISH, NOT_ENGLISH, FEWEST_WORDS = 1 / 8, 1 / 50, 30
_THIRD = re.compile(
    r"\b(?:the|this) (?:persona|user|person described)\b|(?:这位|该)用户|해당 (?:사용자|인물)", re.I
)


def check_answer(
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
        "identity": bool(identity(text)),
        "third-person": third_person(text, question, name),
        "empty": not count_words(text),
        "truncated": finish_reason == "length",
        "language": other_language(text, question, language),
        "length": outlier(count_words(text), others),
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
    if written != "latin" or count_words(text) < FEWEST_WORDS:
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
