"""Search in one's own history of 100,000 messages: `search.find` against its own statement alone.

The floor runs the very SQL, with the same values, through psycopg: what is ours is the embedding of
the query, the building of the values and of the hits, and the snippets.
"""

import random
import statistics
import time
from datetime import UTC, datetime, timedelta

import psycopg

from benchmarks import stack
from benchmarks.figures import figure, setup_django

TURNS = 10
WORDS = (
    *("quiet", "morning", "river", "market", "bread", "window", "garden", "slow", "train"),
    *("letter", "evening", "kitchen", "walk", "lamp", "paper", "street", "harbour", "winter"),
    *("music", "habit", "plan", "budget", "season", "answer", "reason", "library", "bicycle"),
    *("numpy", "tensor", "kernel", "socket", "index", "oolong", "kettle", "saucer", "terrace"),
)
CHINESE = "安静的早晨河边市场面包窗户花园慢车书信晚上厨房散步灯纸街道港口冬天音乐习惯计划季节"
KOREAN = ("조용한", "아침", "강가", "시장", "빵", "창문", "정원", "기차", "편지", "저녁", "부엌")


def main(messages=100_000, queries=200) -> dict[str, dict]:
    """Fill one history, then alternate our search and the bare statement; p95 in milliseconds."""
    with stack.running() as run:
        setup_django(DATABASE_URL=run.database_url, ATTUNE_DATA=str(run.data))
        owner = _fill(messages)
        asked = _queries(queries)
        return _measure(run.database_url, owner, asked)


def _fill(messages: int):
    """A person with so many messages, a tenth of them of other people's size beside them."""
    from django.db import connection

    from annotation.accounts.models import User

    chance = random.Random(1)
    owner, other = (User.objects.create_user(f"{name}@example.org") for name in ("own", "other"))
    _bring(owner, chance, messages)
    _bring(other, chance, messages // 10)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")
    return owner


def _bring(owner, chance: random.Random, messages: int) -> None:
    from annotation.core import jobs
    from annotation.histories import ingest
    from annotation.histories.locks import changing
    from annotation.histories.models import Upload
    from annotation.histories.store import store

    upload = Upload.objects.create(owner=owner, size=1, received=1, status="running", attempts=1)
    with changing(owner):
        store(upload, (_chat(chance, n) for n in range(messages // TURNS)))
    ingest._mark(upload, jobs.Lease(upload))


def _chat(chance: random.Random, number: int):
    from annotation.histories.records import Conversation, Message

    start = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=30 * number)
    turns = tuple(
        Message(("user", "assistant")[n % 2], _text(chance, 20 + 60 * (n % 2)), start)
        for n in range(TURNS)
    )
    return Conversation("chatgpt", str(number), _text(chance, 4), turns, start, start)


def _text(chance: random.Random, length: int) -> str:
    kind = chance.random()
    if kind < 0.15:
        return "".join(chance.choices(CHINESE, k=2 * length))
    return " ".join(chance.choices(KOREAN if kind < 0.25 else WORDS, k=length))


def _queries(count: int) -> list[str]:
    """One to three words in each script, frequent ones: every text holds several of them."""
    chance = random.Random(2)
    kinds = [
        lambda: " ".join(chance.sample(WORDS, chance.randint(1, 3))),
        lambda: CHINESE[(at := chance.randrange(len(CHINESE) - 3)) : at + 2],
        lambda: chance.choice(KOREAN),
    ]
    return [kinds[0 if n % 4 else n // 4 % 2 + 1]() for n in range(count)]


def _measure(url: str, owner, asked: list[str]) -> dict[str, dict]:
    from annotation.histories import search

    database = psycopg.connect(url, autocommit=True)
    ours, floor = [], []
    for text in (*asked[:5], *asked):  # the first few warm both
        values = search.statement_values(owner, text, search.LIMIT)
        begin = time.perf_counter()
        hits = search.find(owner, text)
        middle = time.perf_counter()
        rows = psycopg.ClientCursor(database).execute(search._FIND, values).fetchall()
        end = time.perf_counter()
        assert [hit.session for hit in hits] == [row[0] for row in rows], text
        assert hits, text
        ours.append(1e3 * (middle - begin))
        floor.append(1e3 * (end - middle))
    ours, floor = ours[5:], floor[5:]
    return figure(
        "history_search",
        _p95(ours),
        _p95(floor),
        "ms",
        p50=statistics.median(ours),
        floor_p50=statistics.median(floor),
    )


def _p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


if __name__ == "__main__":
    main()
