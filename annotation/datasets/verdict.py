"""Which of two answers a model's text chooses. Needs Python alone: releases ship this file.

`evaluate` names the answers 1 and 2, the tasks of a release A and B; both are read by this rule.
"""

import re

NUMBERS, LETTERS = ("1", "2"), ("A", "B")
# What follows an end of thinking counts, and a verdict inside an unfinished thought does not.
_THOUGHT = re.compile(r"<(think|thinking)>.*?(</\1>|\Z)", re.S | re.I)
_THOUGHT_END = re.compile(r".*</(think|thinking)>", re.S | re.I)
# A letter that begins a sentence may be its article: “Answer: A person like this …”.
_ARTICLE = r"(?<=[^\w\s]\s)(?-i:[AB]\s+(?!(?:is|because|as|since)\b)[a-z])"


def _patterns(names: tuple[str, str]) -> tuple[re.Pattern, re.Pattern]:
    """A text that is a name alone, and a verdict within a line."""
    either = "|".join(names)
    return (
        re.compile(rf"\W*(?:answer\s*)?({either})\W*", re.I),
        re.compile(
            r"(?:verdict|choice|answer|选择|答案|판정)\W{0,12}?(?:is\W{0,4})?(?:answer\s*)?"
            rf"(?!{_ARTICLE})\b(?-i:({either}))\b(?!\s*(?:or|and|/|vs))",
            re.I,
        ),
    )


_PATTERNS = {names: _patterns(names) for names in (NUMBERS, LETTERS)}


def read(text: str, names: tuple[str, str]) -> str | None:
    """The one of ``names`` that the text ends up choosing; None where it names none clearly."""
    text = answered(text)
    alone, verdict = _PATTERNS[names]
    if match := alone.fullmatch(text):
        return match[1].upper()
    for line in reversed(text.splitlines()):
        if named := set(verdict.findall(line)):
            return named.pop() if len(named) == 1 else None
    return None


def answered(text: str) -> str:
    """What a model says after it has thought."""
    return _THOUGHT_END.sub("", _THOUGHT.sub("", text)).strip()


def score(doc: dict, replies: list[str]) -> dict[str, float]:
    """For lm-evaluation-harness: whether the reply to a row of choices is right, or cannot be read.

    As in `evaluate`, what cannot be read is not right.
    """
    named = read(replies[0], LETTERS)
    return {
        "exact_match": float(named == LETTERS[doc["answer"]]),
        "unparsed_share": float(named is None),
    }
