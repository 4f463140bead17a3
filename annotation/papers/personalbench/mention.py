"""Whether an answer mentions an attribute of the person explicitly. Pure.

Model judges reward such mentions and people do not. The method names the flag, not how it is
computed: ours is the share of the attribute's content words that the answer has and the prompt
has not.
"""

import re

THRESHOLD = 0.5
# What carries no meaning of its own in statements about a person.
_EMPTY = """
    a about after all also an and any are as at be been being but by can could did do does for
    from had has have he her hers him his how if in into is it its like likes may might more most
    much of often on one or other people person prefer prefers she should so some someone than
    that the their them they this those to too user users very want wants was were what when
    where which who will with would you your"""
EMPTY = frozenset(_EMPTY.split())
# Words of alphabets; of scripts without blanks, every two neighbouring signs.
_WORD = re.compile(r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}|\d+")
_SIGNS = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_ENDING = re.compile(r"(?<=\w{3})(ings?|edly|ers?|ed|es|s|ly)$")


def content_words(text: str) -> set[str]:
    """Lower-case words of ``text`` that mean something, without their English endings."""
    text = text.lower()
    runs = _SIGNS.findall(text)
    signs = {run[n : n + 2] for run in runs for n in range(max(1, len(run) - 1))}
    return {_ENDING.sub("", word) for word in _WORD.findall(text) if word not in EMPTY} | signs


def mentioned(attribute: str, answer: str, prompt: str = "") -> float | None:
    """Share (0 to 1) of the attribute's content words that are in ``answer`` and not in ``prompt``.

    None where the attribute has only content words that the prompt has too.
    """
    words = content_words(attribute) - content_words(prompt)
    return len(words & content_words(answer)) / len(words) if words else None


def explicit(share: float | None) -> bool | None:
    """Whether that share counts as an explicit mention; None where there is none."""
    return None if share is None else share >= THRESHOLD
