"""Killed parts and a restart lose no acknowledged vote and no requested candidate.

A short run of `benchmarks.chaos` in a fixed order: each kill comes when the part is at work.
"""

import json
import sys
import threading
import time

import pytest

from benchmarks import chaos, stack
from tests.candidates.conftest import Fake, Reply

SECONDS = 120
FEW = 8  # acknowledgements between two kills: the part that comes back is seen to serve

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills processes by name")


@pytest.fixture
def model():
    """A model server that holds its first answer back until it is released."""
    fake = Fake()
    fake.received = threading.Event()

    def hold(handler):
        fake.received.set()
        fake.released.wait(SECONDS)
        handler.send(Reply())

    fake.replies = [hold, Reply()]
    yield fake
    fake.close()


@pytest.fixture
def house(model):
    """A running installation whose answers are written by `model`."""
    with stack.running(ATTUNE_ENDPOINTS=json.dumps([model.config()])) as run:
        yield run


def until(journal, count):
    """Wait for so many acknowledgements more than there are."""
    goal, rounds = journal.count + count, SECONDS * 20
    while journal.count < goal:
        rounds -= 1
        assert rounds, "nobody is answered any more"
        time.sleep(0.05)


@pytest.mark.proof
def test_kills_and_a_restart_lose_no_acknowledged_vote_and_no_requested_candidate(
    house, model, tmp_path
):
    made = house.run(
        *("benchmarks.seed", "--items", 800, "--overlap", 3, "--people", 4, "--length", 200),
        *("--queries", 4),
    )
    end, journal = threading.Event(), chaos.Journal(tmp_path / "acknowledged.jsonl")
    crowd = [chaos.Annotator(house.port, each, journal, end, seed=1) for each in made["people"]]
    asked = house.run("manage", "generate", "bench", "--endpoint", "fake", "--json")
    assert asked["requested"] == 12
    assert model.received.wait(SECONDS), "no worker has begun"
    for one in crowd:
        one.start()
    for target in ("celery worker", "web worker", "postgres backend"):
        until(journal, FEW)
        assert chaos.kill(house, target)
    until(journal, FEW)
    house.stop()
    house.start()
    model.released.set()
    until(journal, FEW)
    end.set()
    for one in crowd:
        one.join(SECONDS)

    assert [one.trouble for one in crowd] == [""] * len(crowd)
    assert not any(one.is_alive() for one in crowd)
    acknowledged = journal.read()
    assert len(acknowledged) == journal.count >= 5 * FEW
    nothing = {"lost": 0, "duplicates": 0, "over": 0, "counters": 0}
    assert chaos.compare(house, acknowledged) == nothing
    # The comparison itself can fail: a vote that nobody cast is missed.
    forged = acknowledged[0] | {"choice": acknowledged[0]["slot"]}
    assert chaos.compare(house, [*acknowledged, forged]) == nothing | {"lost": 1}
    assert_every_candidate_is_written(house)


def assert_every_candidate_is_written(house):
    with house.connect() as database:
        # The killed worker's lease is over: nobody needs to sit through it.
        database.execute("UPDATE candidates_candidate SET lease_expires_at = now() - interval '1 s'"
                         " WHERE status = 'running'")  # fmt: skip
    written = house.run("manage", "generate", "bench", "--endpoint", "fake", "--wait", "--json")
    assert (written["requested"], written["done"], written["failed"]) == (12, 12, 0)
    with house.connect() as database:
        rows = database.execute(
            "SELECT count(*), count(DISTINCT (query_id, strategy)), min(text), max(text)"
            " FROM candidates_candidate WHERE endpoint = 'fake'"
        ).fetchone()
    assert rows == (12, 12, "A calm answer.", "A calm answer.")


@pytest.mark.parametrize(
    ("seconds", "answers", "kills"), [(600, 20_000, 300), (3_600, 20_000, 300), (60, 200, 3)]
)
def test_a_run_with_too_little_done_proves_nothing(seconds, answers, kills):
    assert chaos.quota(seconds) == (answers, kills)
