"""Sixteen connections claim from one study: `queue.claim` against its own SQL through psycopg.

Each claims, and then one plain statement marks what it got as done, so that the next claim takes
another slot; both are in the time of both.
"""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg

from benchmarks import stack
from benchmarks.figures import figure, setup_django

OVERLAP = 9
FINISH = "UPDATE judging_slot SET status = 'done', lease_expires_at = NULL WHERE id = %s"


def main(connections=16, items=5_000, rounds=4, claims=25) -> dict[str, dict]:
    """Alternate `rounds` of `claims` a connection, ours and bare; claims a second.

    AssertionError where a slot was handed out twice, or an item twice to one person.
    """
    with stack.running() as run:
        words = ("--items", items, "--overlap", OVERLAP, "--people", 2 * connections)
        run.run("benchmarks.seed", *words, "--length", 300)
        setup_django(DATABASE_URL=run.database_url, ATTUNE_DATA=str(run.data))
        crowds = _crowds(run.database_url, connections)
        # Threads that last: each keeps one connection through all rounds.
        pools = [ThreadPoolExecutor(connections) for _ in crowds]
        taken = [slot for pair in zip(pools, crowds, strict=True) for slot in _round(*pair, 5)]
        walls = [0.0, 0.0]
        for _ in range(rounds):
            for place, (pool, crowd) in enumerate(zip(pools, crowds, strict=True)):
                begin = time.perf_counter()
                taken += _round(pool, crowd, claims)
                walls[place] += time.perf_counter() - begin
        _check(run, taken)
    (ours, floor), count = walls, rounds * claims * connections
    return figure("claim_contention", count / ours, count / floor, "/s")


def _crowds(url: str, connections: int) -> tuple[list, list]:
    """One function a connection that claims and finishes once, for the two halves of the people."""
    from annotation.accounts.models import User
    from annotation.studies.models import Study

    study, people = Study.objects.get(), list(User.objects.exclude(memberships=None).order_by("pk"))
    ours = [_through_queue(study, person) for person in people[:connections]]
    bare = [_through_psycopg(url, study, person) for person in people[connections:]]
    return ours, bare


def _through_queue(study, person):
    from django.db import connection

    from annotation.judging.work import queue

    def claim():
        slot = queue.claim(study, person)
        with connection.cursor() as cursor:
            cursor.execute(FINISH, [slot])
        return slot

    return claim


def _through_psycopg(url: str, study, person):
    """The statements that `queue.claim` sends, recorded once for this person, then sent bare."""
    from django.db import connection

    from annotation.core import sql
    from annotation.judging.work import queue

    sent = []

    def record(execute, statement, parameters, many, context):
        sent.append((statement, parameters))
        return execute(statement, parameters, many, context)

    with connection.execute_wrapper(record):
        queue.hand_back(queue.claim(study, person), person, "released")
    taking, names = sql._numbered(queue._TAKE)
    lock, held, take = _of_a_claim(sent, taking)
    database = psycopg.connect(url, autocommit=True, prepare_threshold=2)
    numbered, place = psycopg.RawCursor(database), names.index("cursor")

    def claim():
        with database.transaction():
            desk = numbered.execute(*lock).fetchone()
            assert database.execute(*held).fetchone() is None
            take[1][place] = desk[1]
            slot = numbered.execute(*take).fetchone()[0]
        database.execute(FINISH, [slot])
        return slot

    return claim


def _of_a_claim(sent: list, taking: str) -> tuple:
    """The lock of the desk, the look for a held slot, and the taking."""
    take = next(number for number, (sql, _) in enumerate(sent) if sql == taking)
    locks = [call for call in sent[:take] if "judging_desk" in call[0] and "FOR UPDATE" in call[0]]
    return locks[-1], sent[take - 1], sent[take]


def _round(pool: ThreadPoolExecutor, crowd: list, count: int) -> list:
    """`count` claims of everybody, each in a thread of its own; what they got."""
    gate = threading.Barrier(len(crowd))

    def work(claim):
        gate.wait()
        return [claim() for _ in range(count)]

    return list(itertools.chain.from_iterable(pool.map(work, crowd)))


def _check(run: stack.Stack, taken: list) -> None:
    assert None not in taken, "the slots ran out"
    assert len(taken) == len(set(taken)), "a slot was handed out twice"
    with run.connect() as database:
        done, pairs = database.execute(
            """SELECT count(*), count(DISTINCT (item_id, annotator_id))
               FROM judging_slot WHERE status = 'done'"""
        ).fetchone()
    assert done == pairs == len(taken), (done, pairs, len(taken))


if __name__ == "__main__":
    main()
