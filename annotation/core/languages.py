"""Which language a text is in, as far as its script tells: for the `lang` of what pages show.

A reader's software speaks a text, breaks its lines and chooses its characters' forms by `lang`.
"""

import re
from functools import lru_cache

from django.conf.locale import LANG_INFO
from django.utils.translation import get_language_info

_SCRIPTS = {
    "hangul": re.compile(r"[\uac00-\ud7af]"),
    "kana": re.compile(r"[\u3040-\u30ff]"),
    "han": re.compile(r"[\u4e00-\u9fff]"),
    "latin": re.compile(r"[A-Za-z\u00c0-\u024f]"),
    "cyrillic": re.compile(r"[\u0400-\u04ff]"),
}
# How many letters of an alphabet a sign is worth: a sign of Chinese is a word.
_WEIGHTS = {"hangul": 2, "han": 3}
_WRITTEN_IN = {"zh": {"han"}, "ja": {"kana", "han"}, "ko": {"hangul"}}
_COMMONEST = {"hangul": "ko", "kana": "ja", "han": "zh", "latin": "en"}
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")
# Frequent in English, rare in other languages of Latin script.
_ENGLISH = {
    *("the", "and", "to", "you", "that", "it", "with", "are", "this", "your", "be", "not", "have"),
    *("can", "from", "by", "they", "he", "she", "but", "what", "how", "would", "which", "were"),
    *("has", "their", "there", "if", "does", "when", "where", "why", "who", "about", "should"),
}
# Fewer words tell nothing; of more, English has one in three or four in the list.
_FEWEST_WORDS = 4
_ONE_IN = 12
_ACCENTED_SHARE = 0.02


def endonym(code: str) -> str:
    """A language by its own name; the code where nobody here knows the language."""
    if code == "zh":  # Django knows it by its scripts alone
        return "中文"
    try:
        return get_language_info(code.lower())["name_local"]
    except KeyError:
        return code


_CODES = {"unknown": "", "und": "", "chinese": "zh", "中文": "zh"} | {
    info[name].lower(): code
    for code, info in LANG_INFO.items()
    for name in ("name", "name_local")
    if name in info
}


def code_of(name: str) -> str:
    """The BCP 47 code of a language by its code or name in a file; what is no such name stays."""
    return _CODES.get(name.lower(), name.replace("_", "-"))


def script(text: str, fewest: int = 1) -> str:
    """The script that a text is mostly written in; "" where it has less than ``fewest`` letters.

    A sign of Hangul counts as two letters and a Chinese one as three.
    """
    names = ("latin",) if text.isascii() else tuple(_SCRIPTS)
    counts = {name: len(_SCRIPTS[name].findall(text)) for name in names}
    if counts.get("kana", 0) > 0.1 * sum(counts.values()):
        return "kana"
    counts = {name: count * _WEIGHTS.get(name, 1) for name, count in counts.items()}
    most = max(counts, key=lambda name: counts[name])
    return most if sum(counts.values()) >= fewest else ""


def differing(text: str, page: str, stored: str = "", whole: str = "") -> str:
    """The BCP 47 code for the `lang` of ``text`` on a page in the language ``page``; "" for none.

    ``stored`` is the language noted with the text, which holds where the script allows it.
    Otherwise the script decides: Chinese, Japanese or Korean. Latin letters on a page of another
    script are English where ``whole``, the text around (``text`` itself where it is empty), reads
    like it, and "und", undetermined, elsewhere. Latin text on a page of Latin script is taken to be
    the page's, unless it has as many of the frequent words as only English has.
    """
    written, page = script(text), _primary(page)
    code = _differing(written, page, stored)
    if code == "en" and stored != "en" and not like_english(whole or text):
        return "und"
    of_page = written == "latin" and not code and not stored and page != "en"
    return "en" if of_page and surely_english(whole or text) else code


def surely_english(text: str) -> bool:
    """Whether a sixth or more of at least four Latin words are among English's most frequent."""
    words = _LATIN_WORD.findall(text.lower())
    return len(words) >= _FEWEST_WORDS and _frequent(words) * 6 >= len(words)


# Cached: a text of many paragraphs asks for each.
@lru_cache(maxsize=64)
def like_english(text: str) -> bool:
    """Whether the Latin words of a text may be English, by its most frequent words and accents.

    Fewer than four words without accents are taken for English: names and terms mostly.
    """
    words = _LATIN_WORD.findall(text.lower())
    letters = "".join(words)
    if sum(not letter.isascii() for letter in letters) > _ACCENTED_SHARE * len(letters):
        return False
    return len(words) < _FEWEST_WORDS or _frequent(words) * _ONE_IN >= len(words)


def english_share(text: str) -> float:
    """The share of the Latin words of a text that are among the most frequent ones of English.

    About a quarter in English, next to nothing in other languages; 0.0 without Latin words.
    """
    words = _LATIN_WORD.findall(text.lower())
    return _frequent(words) / len(words) if words else 0.0


def _frequent(words: list[str]) -> int:
    return sum(word in _ENGLISH for word in words)


@lru_cache(maxsize=1024)
def _differing(written: str, page: str, stored: str) -> str:
    if not written:
        return ""
    if stored and written in _written_in(stored):
        code = stored
    elif written in _written_in(page):
        return ""
    else:
        code = _COMMONEST.get(written, "")
    return "" if _primary(code) == page else code


def _written_in(code: str) -> set[str]:
    return _WRITTEN_IN.get(_primary(code), {"latin"} if _primary(code) != "ru" else {"cyrillic"})


def _primary(code: str) -> str:
    return code.lower().partition("-")[0]
