"""Search in one's own history: by words, in any script, and by meaning."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet
from django.utils.text import Truncator

from annotation.accounts.models import User
from annotation.core.embed import embed
from annotation.histories.models import Passage

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


@dataclass(frozen=True)
class Hit:
    """One session that was found, with its best passage. Texts are ORIGINAL."""

    session: UUID
    message: int | None
    kind: str
    provider: str
    title: str
    started_at: datetime | None
    state: str
    snippet: str
    score: float


def index(owner: User, rows: Sequence[tuple[UUID, int | None, str]]) -> int:
    """Make texts findable: ``rows`` of session id, message id (None: a title), text; how many."""
    parts = [
        (session, message, start, part)
        for session, message, text in rows
        for start, part in _parts(text)
    ]
    vectors = embed([part for *_, part in parts]).astype("float16")
    table = Passage._meta.db_table
    columns = "owner_id, session_id, message_id, start, words, embedding"
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for (session, message, start, part), vector in zip(parts, vectors, strict=True):
            place = f"[{','.join(map(str, vector.tolist()))}]"
            copy.write_row((owner.pk, session, message, start, as_tsvector(part), place))
    return len(parts)


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


_FIND = """
    WITH by_words AS MATERIALIZED (
        SELECT id, session_id, rank() OVER (ORDER BY score DESC) AS place FROM (
            SELECT id, session_id, ts_rank(words, %(words)s::tsquery) AS score
            FROM histories_passage
            WHERE owner_id = %(owner)s AND words @@ %(words)s::tsquery AND {only}
            ORDER BY score DESC, id DESC LIMIT %(depth)s) w
    ), by_meaning AS MATERIALIZED (
        SELECT id, session_id, rank() OVER (ORDER BY distance) AS place FROM (
            SELECT id, session_id, embedding <=> %(meaning)s::halfvec AS distance
            FROM histories_passage WHERE owner_id = %(owner)s AND {only}
            ORDER BY distance, id LIMIT %(depth)s) m
        WHERE distance < %(far)s
    ), passages AS (
        SELECT id, session_id, sum(1.0 / (%(fusion)s + place)) AS score
        FROM (TABLE by_words UNION ALL TABLE by_meaning) b GROUP BY id, session_id
    ), best AS (
        SELECT DISTINCT ON (session_id) id, session_id, score
        FROM passages ORDER BY session_id, score DESC, id
    )
    SELECT s.id, p.message_id, s.kind, s.provider, s.title, s.started_at, s.state,
           substr(coalesce(m.text, s.title), p.start + 1, %(passage)s), b.score
    FROM best b JOIN histories_passage p ON p.id = b.id
    JOIN histories_session s ON s.id = b.session_id AND s.owner_id = %(owner)s
    LEFT JOIN histories_message m ON m.id = p.message_id
    ORDER BY b.score DESC, s.started_at DESC NULLS LAST, s.id LIMIT %(limit)s""".replace(
    # Narrowed before the best are taken: what fits beside much that is not wanted is found, too.
    "{only}",
    "(%(only)s::uuid[] IS NULL OR session_id = ANY(%(only)s::uuid[]))",
)


def find(owner: User, text: str, limit: int = LIMIT, only: QuerySet | None = None) -> list[Hit]:
    """``owner``'s sessions that hold the words of ``text`` or come near its meaning, best first.

    ``only`` narrows them to these sessions. The texts of a hit are the owner's ORIGINAL ones: for
    anybody else use ``browse``.
    """
    text = text.strip()[:QUERY_LIMIT]
    if not text:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_FIND, statement_values(owner, text, limit, only))
        rows = cursor.fetchall()
    names = [field.name for field in fields(Hit)]
    shown = ((*row[:7], _snippet(row[7], text), float(row[8])) for row in rows)
    return [Hit(**dict(zip(names, values, strict=True))) for values in shown]


def statement_values(owner: User, text: str, limit: int, only: QuerySet | None = None) -> dict:
    """What the statement of ``find`` is run with."""
    meaning = embed([text])[0].astype("float16")
    return {
        "owner": owner.pk,
        "words": query(text),
        "meaning": f"[{','.join(map(str, meaning.tolist()))}]",
        "far": 1 - NEAR,
        "fusion": FUSION,
        "depth": 4 * limit,
        "passage": PASSAGE,
        "limit": limit,
        "only": None if only is None else list(only.order_by().values_list("pk", flat=True)),
    }


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
