"""Search in one's own history: by words, in any script, and by meaning."""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import UUID

from django.contrib.postgres.search import SearchQueryField, SearchRank
from django.db.models import BooleanField, F, Func, QuerySet, Value
from django.db.models.functions import Cast, Coalesce, Substr
from django.utils.text import Truncator
from pgvector import HalfVector
from pgvector.django import CosineDistance

from annotation.accounts.models import User
from annotation.core import sql
from annotation.core.embed import embed
from annotation.histories.models import Passage, Session

# A passage is about a page: its meaning is one, and its words fit into one tsvector.
PASSAGE = 2_000
SNIPPET = 240
LIMIT = 50
# Reciprocal rank fusion (Cormack et al. 2009) adds 1 / (60 + rank) over the two lists.
FUSION = 60
# Below this cosine similarity two texts have no more in common than their language.
NEAR = 0.35
# Queries are short; of a pasted page only the beginning is searched for.
QUERY_LIMIT = 500
# A word is cut here; what is longer is a digest or an address, whose beginning tells enough.
WORD_LIMIT = 40
# PostgreSQL counts positions up to this one.
LAST_POSITION = 16_383
# A search of more words than this is a pasted text: its first words find it.
WORDS_LIMIT = 30


def index(owner: User, rows: Sequence[tuple[UUID, int | None, str]]) -> int:
    """Make texts findable: ``rows`` of session id, message id (None: a title), text; how many."""
    parts = [
        (session, message, start, part)
        for session, message, text in rows
        for start, part in _parts(text)
    ]
    vectors = embed([part for *_, part in parts])
    passages: list[dict[str, Any]] = [
        {"owner_id": owner.pk, "session_id": session, "message_id": message, "start": start}
        | {"words": as_tsvector(part), "embedding": HalfVector(vector).to_text()}
        for (session, message, start, part), vector in zip(parts, vectors, strict=True)
    ]
    return len(sql.copy(Passage, passages))


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """``text`` in passages of at most PASSAGE characters, cut at a space where there is one."""
    start = 0
    while start < len(text):
        end = start + PASSAGE
        if end < len(text):
            space = max(text.rfind(" ", start + PASSAGE // 2, end), text.rfind("\n", start, end))
            end = space + 1 if space > start + PASSAGE // 2 else end
        part = text[start:end]
        if part.strip():
            yield start, part
        start = end


class _Matches(Func):
    """Whether a ``tsvector`` has what a ``tsquery`` asks for."""

    arg_joiner = " @@ "
    template = "%(expressions)s"
    output_field = BooleanField()


def relevance(passages: QuerySet, text: str, words: str, depth: int) -> dict[int, float]:
    """{key: score} of the ``depth`` passages that fit ``words`` best, and as many near in meaning.

    ``words`` is a ``tsquery``; the meaning is that of ``text``.
    """
    wanted = Cast(Value(words), SearchQueryField())
    by_words = passages.filter(_Matches(F("words"), wanted))
    by_words = by_words.annotate(distance=-SearchRank(F("words"), wanted))
    meaning = CosineDistance("embedding", HalfVector(embed([text])[0]))
    by_meaning = passages.annotate(distance=meaning).filter(distance__lt=1 - NEAR)
    scores: defaultdict[int, float] = defaultdict(float)
    for ranked in (by_words.order_by("distance", "-pk"), by_meaning.order_by("distance", "pk")):
        places: dict[float, int] = {}
        rows = ranked.values_list("pk", "distance")[:depth]
        for place, (key, distance) in enumerate(rows, start=1):
            # What is equally good has the same place.
            scores[key] += 1 / (FUSION + places.setdefault(distance, place))
    return scores


def find(
    owner: User, text: str, limit: int = LIMIT, only: QuerySet | None = None
) -> dict[UUID, str]:
    """{session's id: the part that fits} of ``owner``'s sessions, best first.

    They hold the words of ``text`` or come near its meaning. ``only`` narrows them to these
    sessions. The parts are of the owner's ORIGINAL texts: for anybody else use ``browse``.
    """
    text = text.strip()[:QUERY_LIMIT]
    if not text:
        return {}
    passages = Passage.objects.filter(owner=owner)
    if only is not None:
        # Narrowed before the best are taken: what fits beside much that is not wanted is found.
        passages = passages.filter(session__in=only.order_by().values("pk"))
    scores = relevance(passages, text, query(text), 4 * limit)
    whole = Coalesce("message__text", "session__title")
    rows = Passage.objects.filter(pk__in=scores).select_related("session")
    rows = rows.annotate(text=Substr(whole, F("start") + 1, PASSAGE)).order_by("pk")
    best: dict[UUID, Any] = {}
    for row in sorted(rows, key=lambda row: -scores[row.pk]):
        best.setdefault(row.session_id, row)
    ranked = sorted(best.values(), key=lambda row: (-scores[row.pk], *_newest(row.session)))
    return {row.session_id: _snippet(row.text, text) for row in ranked[:limit]}


def _newest(session: Session) -> tuple[float, UUID]:
    started = session.started_at
    return (-started.timestamp() if started else math.inf), session.pk


def _snippet(passage: str, query: str) -> str:
    """The part of a passage around the first word of the query that stands in it."""
    low = passage.casefold()
    places = [low.find(word) for word in query.casefold().split()]
    place = min((place for place in places if place >= 0), default=0)
    start = max(0, place - SNIPPET // 3)
    cut = passage[start : start + SNIPPET]
    text = Truncator(" ".join(cut.split())).chars(SNIPPET)
    return f"{'…' if start else ''}{text}{'…' if start + SNIPPET < len(passage) else ''}"


_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\U00020000-\U0003ffff"
_RUN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+")
_IS_CJK = re.compile(f"[{_CJK}]")


def as_tsvector(text: str) -> str:
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
    runs = [match.group() for match in _RUN.finditer(_normal(text))][:WORDS_LIMIT]
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
