"""People judge while parts of the server are killed at random: no acknowledged answer may be lost.

`python -m benchmarks.chaos --seconds 600`. Each of 16 annotators judges, by page or by API, and
repeats a submit under its key until it is acknowledged; every acknowledgement goes to a file that
no part of the server knows. At the end the database is compared with that file.
"""

import argparse
import collections
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import psutil

from benchmarks import stack
from benchmarks.clients import Browser, Program
from benchmarks.seed import SLUG

OVERLAP = 3
PAUSE = 0.1
# So many judgments by page or by API in a row: a page that follows a submit needs no request.
STRETCH = 12
# A page or program may be told to come again, or hear nothing at all, while a part is away.
AGAIN = {0, 502, 503}
PATIENCE = 180
# What is killed, and how often compared with the others: the cheap deaths more often.
TARGETS = {
    "web worker": (6, lambda run: _any(run.children("web"))),
    "web master": (1, lambda run: run.part("web")),
    "celery worker": (4, lambda run: run.part("worker")),
    "postgres backend": (6, lambda run: _any(_backends(run))),
    "whole postgres": (1, lambda run: run.part("postgres")),
    "redis": (1, lambda run: run.part("redis")),
}


class Trouble(Exception):  # noqa: N818 (the run's own finding)
    """The server answered what it may not, or nothing for too long."""


class Journal:
    """Acknowledged judgments, one JSON line each, on disk before the next request is sent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = threading.Lock()
        self.file = path.open("a", encoding="utf-8")
        self.count = 0

    def write(self, **judgment: str) -> None:
        """Add one acknowledgement."""
        with self.lock:
            self.file.write(json.dumps(judgment) + "\n")
            self.file.flush()
            self.count += 1

    def read(self) -> list[dict]:
        """All of them."""
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]


class Annotator(threading.Thread):
    """Judges until `end` is set or nothing is left, through page and API by turns of a dice.

    What went wrong for good is in `trouble`; `answers` counts every status that was received.
    """

    def __init__(self, port: int, person: dict, journal: Journal, end: threading.Event, seed: int):
        super().__init__(name=person["email"], daemon=True)
        self.browser, self.program = Browser(port, person), Program(port, person)
        self.journal, self.end = journal, end
        self.random = random.Random(f"{seed} {person['email']}")
        self.answers: collections.Counter = collections.Counter()
        self.trouble = ""
        self.number = 0

    def run(self) -> None:
        try:
            while not self.end.is_set() and self._stretch():
                pass
        except Trouble as trouble:
            self.trouble = str(trouble)
            self.end.set()

    def _stretch(self) -> bool:
        """Judge some items in one way; False where nothing is left."""
        act = self._by_page if self.random.random() < 0.5 else self._by_api
        self.browser.page = b""  # what it showed may have been judged by API since
        for _ in range(self.random.randint(1, STRETCH)):
            self.number += 1
            if self.end.is_set() or not act(f"{self.name} says {self.number}"):
                return False
        return True

    def _by_page(self, reason: str) -> bool:
        item = self.browser.shown()
        if item is None:
            self._until({200}, self.browser.open)
            item = self.browser.shown()
        if item is None:
            return False
        choice = self.random.choice(item["options"])
        fields = {"slot": item["slot"], "key": item["key"], "choice": choice, "reason": reason}
        self._until({200}, lambda: self.browser.submit(fields))
        self._note(item["slot"], item["key"], choice, reason)
        return True

    def _by_api(self, reason: str) -> bool:
        item = self._until({200, 204}, lambda: self.program.call(f"studies/{SLUG}/claim/"))
        if not item:
            return False
        slot, choice = item["slot"], self.random.choice(item["options"])["id"]
        body = {"choice": choice, "reason": reason}
        key = {"Idempotency-Key": reason}
        path = f"slots/{slot}/judgment/"
        stored = self._until({200, 201}, lambda: self.program.call(path, body, **key))
        if (stored["slot"], stored["answer"]["answers"]["choice"]) != (slot, choice):
            raise Trouble(f"{choice} of slot {slot} was acknowledged as {stored}")
        self._note(slot, reason, choice, reason)
        return True

    def _note(self, slot: str, key: str, choice: str, reason: str) -> None:
        self.journal.write(person=self.name, slot=slot, key=key, choice=choice, reason=reason)

    def _until(self, good: set[int], send):
        """Repeat a request until it is answered with a status of `good`; what it gave beside it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = send()
            status, body = answer if isinstance(answer, tuple) else (answer, None)
            self.answers[status] += 1
            if status in good:
                return body
            if status not in AGAIN:
                raise Trouble(f"{self.name}: status {status}")
            if time.monotonic() > deadline:
                raise Trouble(f"{self.name}: no answer in {PATIENCE} s, the last status {status}")
            time.sleep(PAUSE)


def kill(run: stack.Stack, target: str) -> bool:
    """Send SIGKILL to one process of the kind `target`; False where none runs at the moment."""
    try:
        process = TARGETS[target][1](run)
        if process:
            process.kill()
    except psutil.NoSuchProcess:
        return False
    return process is not None


def nemesis(
    run: stack.Stack,
    journal: Journal,
    seconds: float,
    seed: int,
    end: threading.Event,
    pause: float,
):
    """Kill something every `pause` seconds or so until `seconds` are over; how often each kind.

    Between two kills something is acknowledged: nothing can be lost where nobody is served.
    """
    dice, killed = random.Random(seed), collections.Counter()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not end.wait(dice.uniform(0, 2 * pause)):
        before = journal.count
        killed[_kill_something(run, dice)] += 1
        while journal.count == before and time.monotonic() < deadline and not end.wait(PAUSE):
            pass
    return killed


def _kill_something(run: stack.Stack, dice: random.Random) -> str:
    """Kill a process and name its kind; what is away at the moment is passed over."""
    weights = [weight for weight, _ in TARGETS.values()]
    while not kill(run, target := dice.choices(list(TARGETS), weights)[0]):
        pass
    return target


def compare(run: stack.Stack, acknowledged: list[dict]) -> dict[str, int]:
    """Acknowledgements against the database: {"lost", "duplicates", "over", "counters"}.

    Lost: not stored as acknowledged. Duplicates: rows beyond one for each acknowledgement. Over:
    items with more judgments than wanted. Counters: those that differ from what they count.
    """
    with run.connect() as database:
        rows = database.execute(ROWS, [SLUG]).fetchall()
        over, slots, done = database.execute(COUNTS, [SLUG]).fetchone()
        counters = database.execute(WRONG_ITEMS).fetchone()[0]
    wanted = [tuple(row[name] for name in FIELDS) for row in acknowledged]
    stored = collections.Counter(rows)
    return {
        "lost": sum(stored[row] == 0 for row in wanted),
        "duplicates": len(rows) - len(set(wanted) & stored.keys()),
        "over": over,
        "counters": counters + (slots != len(rows)) + (done != len(rows)),
    }


FIELDS = ("person", "slot", "key", "choice", "reason")
ROWS = """
    SELECT u.email, j.slot_id::text, j.key, o.candidate_id::text, j.reason
    FROM judging_answer v JOIN judging_judgment j ON j.id = v.judgment_id
    JOIN accounts_user u ON u.id = j.annotator_id
    JOIN judging_slot s ON s.id = j.slot_id
    JOIN judging_itemoption o ON o.item_id = s.item_id AND o.number::text = v.label
    JOIN studies_study y ON y.id = s.study_id AND y.slug = %s"""
COUNTS = """
    SELECT (SELECT count(*) FROM (SELECT 1 FROM judging_judgment v
                                  JOIN judging_slot s ON s.id = v.slot_id
                                  JOIN judging_item i ON i.id = s.item_id
                                  GROUP BY i.id HAVING count(*) > i.overlap) more),
           (SELECT count(*) FROM judging_slot WHERE status = 'done' AND study_id = y.id),
           (SELECT coalesce(sum(done), 0) FROM judging_participation WHERE study_id = y.id)
    FROM studies_study y WHERE slug = %s"""
WRONG_ITEMS = """
    SELECT count(*) FROM judging_item i
    LEFT JOIN (SELECT s.item_id, count(*) AS n, count(*) FILTER (WHERE v.label = '1') AS first
               FROM judging_answer v JOIN judging_judgment j ON j.id = v.judgment_id
               JOIN judging_slot s ON s.id = j.slot_id
               GROUP BY 1) v ON v.item_id = i.id
    WHERE (i.done, coalesce((i.counts ->> '1')::int, 0), coalesce((i.counts ->> '2')::int, 0))
          IS DISTINCT FROM (coalesce(n, 0), coalesce(first, 0), coalesce(n - first, 0))"""


def chaos(seconds: float, *, seed: int, people: int = 16, pause: float = 1.5) -> int:
    """The whole run; prints its line and returns the exit status."""
    end = threading.Event()
    journal = Journal(Path(tempfile.mkdtemp(prefix="attune-chaos-")) / "acknowledged.jsonl")
    with stack.running() as run:
        items = max(2_000, int(seconds * 120))
        words = ("--items", items, "--overlap", OVERLAP, "--people", people, "--length", 300)
        people_made = run.run("benchmarks.seed", *words)["people"]
        crowd = [Annotator(run.port, person, journal, end, seed) for person in people_made]
        for annotator in crowd:
            annotator.start()
        killed = nemesis(run, journal, seconds, seed, end, pause)
        end.set()
        for annotator in crowd:
            annotator.join(2 * PATIENCE)
        faults = compare(run, journal.read())
    _tell(journal, killed, crowd)
    wrong = faults.pop("counters")
    counts = " ".join(f"{name}={number}" for name, number in faults.items())
    print(f"acknowledged={journal.count} kills={killed.total()} {counts}")
    if wrong:
        print(f"{wrong} counters differ from the rows they count.", file=sys.stderr)
    bad = (
        wrong
        or any(faults.values())
        or any(annotator.trouble or annotator.is_alive() for annotator in crowd)
    )
    answers, kills = quota(seconds)
    few = journal.count < answers or killed.total() < kills
    if few:
        words = f"Too few to prove anything: {answers} acknowledged and {kills} kills are wanted."
        print(words, file=sys.stderr)
    return 1 if bad or few else 0


def quota(seconds: float) -> tuple[int, int]:
    """Acknowledgements and kills without which a run of so many seconds proves nothing.

    Ten minutes on an idle machine bring 20,000 and 300. A shorter run starts as slowly, and runs
    beside other work from a clean clone: a tenth of its share.
    """
    share = seconds / 600
    factor = 1 if share >= 1 else 0.1 * share
    return int(20_000 * factor), int(300 * factor)


def _tell(journal: Journal, killed, crowd: list[Annotator]) -> None:
    answers = sum((annotator.answers for annotator in crowd), collections.Counter())
    print(f"killed: {dict(killed)}", file=sys.stderr)
    print(f"answers by status (0: none): {dict(answers)}", file=sys.stderr)
    for annotator in crowd:
        if annotator.trouble or annotator.is_alive():
            print(annotator.trouble or f"{annotator.name} still waits", file=sys.stderr)
    print(f"acknowledgements: {journal.path}", file=sys.stderr)


def _any(processes: list[psutil.Process]) -> psutil.Process | None:
    return random.choice(processes) if processes else None


def _backends(run: stack.Stack) -> list[psutil.Process]:
    """PostgreSQL's processes that serve a connection of the application."""
    return [
        process
        for process in run.children("postgres")
        # One that is just ending has no command line any more.
        if " ".join(process.cmdline()).startswith("postgres: attune")
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pause", type=float, default=1.5, help="mean seconds between two kills")
    options = parser.parse_args()
    sys.exit(chaos(options.seconds, seed=options.seed, pause=options.pause))
