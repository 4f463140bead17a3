"""Which words of a claim are not in the response that it was split off.

Words are compared without case and by their beginning, so that inflected forms count as the same;
writing without spaces is compared by pairs of signs. Words of function are left out: a claim needs
some that the response does not have.
"""

import re
import unicodedata

_RUN = re.compile("[\u3040-\u30ff\u3400-\u9fff]+|[^\\W_]+")
_WITHOUT_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_HANGUL = re.compile("[\uac00-\ud7af]")
_FUNCTION_WORDS = """
    the a an and or of to in on at by for with from as is are was were be been being it its this
    that these those there their they them his her he she you your our we not no can could should
    would will may might must do does did has have had which who whom whose when where what how
    than then also into about between after before while because if so such each
"""
_FUNCTION = frozenset(_FUNCTION_WORDS.split())
# Signs of a stem: of a longer word the last three may differ, of Korean all behind the second.
_STEM, _ENDING, _KOREAN_STEM = 4, 3, 2


def missing_words(claim: str, response: str) -> list[str]:
    """The words of ``claim`` that ``response`` does not hold, in order, each once."""
    held = _normal(response)
    stems = {_stem(word) for word in _RUN.findall(held)}
    missing = [word for word in _RUN.findall(_normal(claim)) if not _is_held(word, held, stems)]
    return list(dict.fromkeys(missing))


def _is_held(word: str, held: str, stems: set[str]) -> bool:
    if word in _FUNCTION:
        return True
    if _WITHOUT_SPACES.match(word):
        pairs = [word[place : place + 2] for place in range(len(word) - 1)] or [word]
        # Particles between two words make new pairs: most of them must be there.
        return 2 * sum(pair in held for pair in pairs) >= len(pairs)
    # "bookable" begins with the stem of "booked"; "bed" and "beds" are too short for a stem.
    begins = (word[:length] for length in range(_STEM, len(word)))
    return not stems.isdisjoint((_stem(word), f"{word}s", word.removesuffix("s"), *begins))


def _stem(word: str) -> str:
    if word.isdecimal():
        return word
    if _HANGUL.match(word):
        return word[:_KOREAN_STEM]
    return word[: max(_STEM, len(word) - _ENDING)]


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
