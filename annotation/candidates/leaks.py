"""Which traits of a person a text names outright. Pure."""

import re

from annotation.personas import profile as profiles

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
