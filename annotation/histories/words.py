"""A text as words to search for, in any script.

Chinese, Japanese and Korean write without spaces, or with endings behind a word: their runs of
signs become overlapping pairs, so that any two signs are found wherever they stand.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator

# A word is cut here; what is longer is a digest or an address, whose beginning tells enough.
WORD_LIMIT = 40
# PostgreSQL counts positions up to this one.
LAST_POSITION = 16_383
# A search of more words than this is a pasted text: its first words find it.
QUERY_LIMIT = 30

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")


def vector(text: str) -> str:
    """``text`` as PostgreSQL reads a ``tsvector``: each word once, with its positions."""
    places = defaultdict(list)
    for position, word in enumerate(_words(text), 1):
        places[word].append(min(position, LAST_POSITION))
    return " ".join(f"'{word}':{','.join(map(str, at))}" for word, at in places.items())


def query(text: str) -> str:
    """What somebody types, as PostgreSQL reads a ``tsquery``; "" where there is no word in it.

    All words must be there; the signs of one Chinese, Japanese or Korean run in their order. The
    last word may be the beginning of one.
    """
    runs = [match.group() for match in _RUN.finditer(_normal(text))][:QUERY_LIMIT]
    return " & ".join(_of_run(run, last=n == len(runs)) for n, run in enumerate(runs, 1))


def _of_run(run: str, last: bool) -> str:
    if not _IS_CJK.match(run):
        return f"'{run[:WORD_LIMIT]}'{':*' if last else ''}"
    if len(run) == 1:  # the first sign of a pair, or the last of its run, which stands alone too
        return f"'{run}':*"
    pairs = [run[place : place + 2] for place in range(min(len(run) - 1, WORD_LIMIT))]
    return "(" + " <-> ".join(f"'{pair}'" for pair in pairs) + ")"


def _words(text: str) -> Iterator[str]:
    for match in _RUN.finditer(_normal(text)):
        run = match.group()
        if not _IS_CJK.match(run):
            yield run[:WORD_LIMIT]
            continue
        for place in range(len(run)):
            yield run[place : place + 2]


def _normal(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()
